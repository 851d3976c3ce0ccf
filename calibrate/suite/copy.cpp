// Copies within the device, and between it and its host.
#include <map>

#include "calibrate/suite/suite.hpp"

namespace orrery::calibrate {

namespace {
constexpr double target = 0.05;
}

std::vector<Subject> copy_grid(const Bench& bench) {
    std::vector<Subject> out;
    const std::uint64_t most = bench.is_cpu() ? 64U << 20U : 512U << 20U;
    for (std::uint64_t bytes = 4096; bytes <= most; bytes *= 8)
        for (const auto kind : {kernels::CopyKind::device_to_device, kernels::CopyKind::host_to_device,
                                kernels::CopyKind::device_to_host})
            if (2 * bytes < bench.most_bytes()) out.emplace_back(CopyShape{kind, bytes});
    return out;
}

std::vector<Subject> copy_refine(const Bench&, std::span<const Record> measured) {
    std::map<kernels::CopyKind, std::map<std::uint64_t, double>> sweeps;
    for (const Record& r : measured)
        if (const auto* c = std::get_if<CopyShape>(&r.subject); c != nullptr && r.failure.empty())
            sweeps[c->kind][c->bytes] = r.seconds;
    std::vector<Subject> out;
    for (const auto& [kind, sizes] : sweeps) {
        std::vector<SweepPoint> sweep;
        for (const auto& [bytes, seconds] : sizes) sweep.push_back({static_cast<double>(bytes), seconds});
        const auto bytes = static_cast<std::uint64_t>(worst_gap(sweep, target)) / 256 * 256;
        if (bytes > 0 && !sizes.contains(bytes)) out.emplace_back(CopyShape{kind, bytes});
    }
    return out;
}

}  // namespace orrery::calibrate
