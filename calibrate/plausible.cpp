#include "calibrate/plausible.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "calibrate/gpu_facts.hpp"
#include "calibrate/peak.hpp"
#include "calibrate/profile_store.hpp"
#include "calibrate/roofline.hpp"

namespace orrery::calibrate {

namespace {

/// Readings repeat within a few percent, and clocks may boost above what the datasheet reckons with.
constexpr double tolerance = 1.05;

/// "" when the profile is of the GPU's kind, or of a device that is not known by its name.
std::string other_device(const Profile& profile, const hardware::Gpu& gpu) {
    const bool host = profile.constants.contains("cache_bytes");  // only processors have it
    const std::string_view known = gpu_in(profile.device);
    const bool of_core = gpu.socket == hardware::Socket::core;
    const bool fits = of_core ? known.empty() : !host && (known.empty() || known == gpu.profile);
    if (fits) return "";
    return fmt::format("profile {} is of {}, but times {}: {}measure one (`orrery calibrate --help`)", profile.name,
                       profile.device, gpu.name,
                       ProfileStore::ships(gpu.profile) ? "leave the profile out for its own, or " : "");
}

}  // namespace

std::vector<std::string> implausible(const Predictor& predictor, const hardware::Gpu& gpu) {
    const Profile& profile = predictor.profile();
    std::vector<std::string> warnings;
    if (std::string text = other_device(profile, gpu); !text.empty()) return {std::move(text)};
    if (gpu.socket == hardware::Socket::core) return warnings;
    const Machine machine(profile.constants);
    for (std::size_t i = 0; i < profile.gemm.size(); ++i) {
        const kernels::Dtype dtype = profile.gemm[i].dtype;
        const double best = predictor.best_product_rate(i), peak = peak_flops(gpu, dtype);
        if (peak > 0 && best > tolerance * peak)
            warnings.push_back(fmt::format(
                "profile {} holds products in {} at {:.0f} TFLOP/s, but the peak of {} is {:.0f}: measure them again",
                profile.name, kernels::name(dtype), best / 1e12, gpu.name, peak / 1e12));
    }
    for (const PointwiseTable& table : profile.pointwise) {
        const PointwisePoint& largest = *std::ranges::max_element(table.points, {}, &PointwisePoint::bytes);
        if (largest.bytes_per_second > tolerance * machine.bytes_per_second)
            warnings.push_back(fmt::format(
                "profile {} holds {} at {:.0f} GB/s, but the memory has {:.0f}: measure it again", profile.name,
                kernels::name(table.kind), largest.bytes_per_second / 1e9, machine.bytes_per_second / 1e9));
    }
    return warnings;
}

}  // namespace orrery::calibrate
