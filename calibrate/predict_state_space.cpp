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
    : half_rate_(0),
      scan_(constant_or(profile.constants, "state_space_scan", 1)),
      convolution_(constant_or(profile.constants, "state_space_convolution", 1)),
      machine_(profile.constants),
      pointwise_(pointwise) {
    half_rate_ = best_half_rate(profile, machine_) * profile.constants.at("sustained_gemm").value;
}

double StateSpacePredictor::reached(const kernels::StateSpace& k) const {
    return kernels::convolves(k.kind) ? convolution_ : scan_;
}

double StateSpacePredictor::products(const kernels::StateSpace& k) const {
    return kernels::flops(k) / (half_rate_ * machine_.peak(k.dtype) / machine_.half_flops);
}

Estimate StateSpacePredictor::estimate(const kernels::StateSpace& k) const {
    Estimate out = pointwise_.estimate(stream(k));
    out.seconds = std::max(out.seconds, products(k)) / reached(k);
    out.extrapolated = true;
    out.derived = "state-space scans from their bytes and operations";
    return out;
}

std::string StateSpacePredictor::explain(const kernels::StateSpace& k) const {
    const double moved = pointwise_.estimate(stream(k)).seconds;
    const std::string share =
        reached(k) < 1 ? fmt::format(", over the {:.2f} that such kernels reach", reached(k)) : "";
    return fmt::format(
        "{}: {}\n  never measured: the longer of an addition that moves its {}, {}, and of its operations at the rate "
        "of products, {}{}\n  {}",
        kernels::to_text(k), format_seconds(estimate(k).seconds), format_bytes(kernels::bytes(k)),
        format_seconds(moved), format_seconds(products(k)), share, pointwise_.explain(stream(k)));
}

}  // namespace orrery::calibrate
