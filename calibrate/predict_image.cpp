#include "calibrate/predict_image.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/units.hpp"

namespace orrery::calibrate {

namespace {

/// Of its roofline that a convolution is taken to reach where the profile has no product: an assumption.
constexpr double untabled_share = 0.5;

/// An addition of rows of `cols` elements that moves as many bytes.
kernels::Pointwise stream(kernels::Dtype dtype, double bytes, std::uint64_t cols) {
    const double row = kernels::bytes(kernels::Pointwise{kernels::PointwiseKind::add, dtype, 1, cols});
    return {kernels::PointwiseKind::add, dtype, static_cast<std::uint64_t>(std::max(1.0, std::round(bytes / row))),
            cols};
}
kernels::Pointwise stream(const kernels::Pooling& p) { return stream(p.dtype, kernels::bytes(p), p.channels); }
kernels::Pointwise stream(const kernels::BatchNorm& b) { return stream(b.dtype, kernels::bytes(b), b.channels); }

Estimate derived(Estimate estimate) {
    estimate.extrapolated = true;
    return estimate;
}

std::string explain_stream(const kernels::Kernel& kernel, const kernels::Pointwise& as, double seconds,
                           const PointwisePredictor& pointwise) {
    return fmt::format("{}: {}\n  never measured: as long as an addition that moves as many bytes\n  {}",
                       kernels::to_text(kernel), format_seconds(seconds), pointwise.explain(as));
}

}  // namespace

ImagePredictor::ImagePredictor(const Profile& profile, const GemmPredictor& gemm, const PointwisePredictor& pointwise)
    : machine_(profile.constants),
      has_products_(!profile.gemm.empty()),
      best_rate_(best_half_rate(profile, machine_)),
      sustained_(profile.constants.at("sustained_gemm").value),
      gemm_(gemm),
      pointwise_(pointwise) {}

Estimate ImagePredictor::at_table_clock(const kernels::Convolution& c) const {
    const double roofline = convolution_roofline(c, machine_);
    if (!has_products_) return {roofline / untabled_share, true};
    const kernels::Gemm product = implicit_gemm(c);
    Estimate out = gemm_.at_table_clock(product);
    out.seconds *= roofline / gemm_roofline(product, machine_);
    return derived(out);
}

Estimate ImagePredictor::estimate(const kernels::Convolution& c) const {
    Estimate out = at_table_clock(c);
    const double peak = best_rate_ * machine_.peak(c.dtype) / machine_.half_flops;
    out.seconds = std::max(out.seconds, sustained_floor(kernels::flops(c), peak, sustained_));
    return out;
}

Estimate ImagePredictor::estimate(const kernels::Pooling& p) const { return derived(pointwise_.estimate(stream(p))); }

Estimate ImagePredictor::estimate(const kernels::BatchNorm& b) const { return derived(pointwise_.estimate(stream(b))); }

std::string ImagePredictor::explain(const kernels::Convolution& c) const {
    const Estimate total = estimate(c);
    std::string out = fmt::format("{}: {}\n  never measured: ", kernels::to_text(c), format_seconds(total.seconds));
    const double roofline = convolution_roofline(c, machine_);
    if (!has_products_)
        return out + fmt::format("{:.0f}% of its roofline of {}\n", 100 * untabled_share, format_seconds(roofline));
    const kernels::Gemm product = implicit_gemm(c);
    const double own = gemm_.at_table_clock(product).seconds;
    return out + fmt::format(
                     "its roofline of {} at {:.0f}%, the share of its own that its implicit product reaches\n"
                     "  {}",
                     format_seconds(roofline), 100 * gemm_roofline(product, machine_) / own, gemm_.explain(product));
}

std::string ImagePredictor::explain(const kernels::Pooling& p) const {
    return explain_stream(p, stream(p), estimate(p).seconds, pointwise_);
}

std::string ImagePredictor::explain(const kernels::BatchNorm& b) const {
    return explain_stream(b, stream(b), estimate(b).seconds, pointwise_);
}

}  // namespace orrery::calibrate
