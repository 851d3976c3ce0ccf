#include "calibrate/predict_state_space.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/units.hpp"
#include "kernels/state_space_work.hpp"

namespace orrery::calibrate {

namespace {

/// An addition of rows of a head's width that moves as many bytes.
kernels::Pointwise stream(const kernels::StateSpace& k) {
    const double row = kernels::bytes(kernels::Pointwise{kernels::PointwiseKind::add, k.dtype, 1, k.head_dim});
    return {kernels::PointwiseKind::add, k.dtype,
            static_cast<std::uint64_t>(std::max(1.0, std::round(kernels::bytes(k) / row))), k.head_dim};
}

}  // namespace

StateSpacePredictor::StateSpacePredictor(const Profile& profile, const PointwisePredictor& pointwise)
    : machine_(profile.constants),
      beside_(constant_or(profile.constants, "state_space_products", 0)),
      convolution_(constant_or(profile.constants, "state_space_convolution", 1)),
      half_rate_(best_half_rate(profile, machine_) * profile.constants.at("sustained_gemm").value),
      pointwise_(pointwise) {}

double StateSpacePredictor::rate(kernels::Dtype dtype) const {
    return beside_ > 0 ? beside_ * machine_.single_flops : half_rate_ * machine_.peak(dtype) / machine_.half_flops;
}

double StateSpacePredictor::seconds(const kernels::StateSpace& k, double moved) const {
    if (kernels::convolves(k.kind)) return moved / convolution_;
    const double computed = kernels::flops(k) / rate(k.dtype);
    return beside_ > 0 ? moved + computed : std::max(moved, computed);
}

Estimate StateSpacePredictor::estimate(const kernels::StateSpace& k) const {
    Estimate out = pointwise_.estimate(stream(k));
    out.seconds = seconds(k, out.seconds);
    out.extrapolated = true;
    out.derived = "state-space scans from their bytes and operations";
    return out;
}

std::string StateSpacePredictor::explain(const kernels::StateSpace& k) const {
    const double moved = pointwise_.estimate(stream(k)).seconds;
    const std::string bytes =
        fmt::format("an addition that moves its {}, {}", format_bytes(kernels::bytes(k)), format_seconds(moved));
    const std::string operations = fmt::format("its operations at {:.1f} TFLOP/s, {}", rate(k.dtype) * 1e-12,
                                               format_seconds(kernels::flops(k) / rate(k.dtype)));
    const auto from = [&] {
        if (kernels::convolves(k.kind))
            return fmt::format("{}, over the {:.2f} that convolutions reach", bytes, convolution_);
        if (kernels::flops(k) == 0) return bytes;
        if (beside_ > 0) return fmt::format("{}, and {}", bytes, operations);
        return fmt::format("the longer of {}, and {}", bytes, operations);
    };
    return fmt::format("{}: {}\n  never measured: {}\n  {}", kernels::to_text(k), format_seconds(seconds(k, moved)),
                       from(), pointwise_.explain(stream(k)));
}

}  // namespace orrery::calibrate
