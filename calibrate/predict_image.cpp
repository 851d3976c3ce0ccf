#include "calibrate/predict_image.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/units.hpp"

namespace orrery::calibrate {

namespace {

/// Of its roofline that a convolution is taken to reach where the profile has no product: an assumption.
constexpr double untabled_share = 0.5;

/// Coordinates in which near means alike: pixels of a batch, channels of a group in and out, the window, and whether it
/// is strided or grouped.
Scatter<5>::Point coordinates(const kernels::Convolution& c) {
    const auto ln = [](double value) { return static_cast<float>(std::log(value)); };
    const double pixels = double{1} * c.batch * c.output_rows() * c.output_columns();
    return {ln(pixels), ln(double{1} * c.channels / c.groups), ln(double{1} * c.outputs / c.groups),
            1.5F * ln(double{1} * c.kernel_rows * c.kernel_columns), 2.0F * ln(c.stride) + 1.5F * ln(c.groups)};
}

/// As tensor cores take it: channels in eights, which cuDNN fills up with zeros (release notes of cuDNN 7.3).
kernels::Convolution as_run(kernels::Convolution c) {
    constexpr std::uint32_t wide = 8;
    if (kernels::size_of(c.dtype) == 2 && c.groups == 1) c.channels = (c.channels + wide - 1) / wide * wide;
    return c;
}

/// Formats that share a table: those of 16 bits, and each with itself.
bool share_table(kernels::Dtype a, kernels::Dtype b) {
    return a == b || (kernels::size_of(a) == 2 && kernels::size_of(b) == 2);
}

/// An addition of rows of `cols` elements that moves as many bytes.
kernels::Pointwise stream(kernels::Dtype dtype, double bytes, std::uint64_t cols) {
    const double row = kernels::bytes(kernels::Pointwise{kernels::PointwiseKind::add, dtype, 1, cols});
    return {kernels::PointwiseKind::add, dtype, static_cast<std::uint64_t>(std::max(1.0, std::round(bytes / row))),
            cols};
}
kernels::Pointwise stream(const kernels::Pooling& p) { return stream(p.dtype, kernels::bytes(p), p.channels); }
kernels::Pointwise stream(const kernels::BatchNorm& b) { return stream(b.dtype, kernels::bytes(b), b.channels); }

Estimate derived(Estimate estimate, std::string_view from) {
    estimate.derived = from;
    return estimate;
}
constexpr std::string_view from_products = "convolutions from products",
                           from_additions = "pooling and batch norms from additions";

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
      sustained_single_(profile.constants.contains("sustained_single") ? profile.constants.at("sustained_single").value
                                                                       : sustained_),
      gemm_(gemm),
      pointwise_(pointwise) {
    for (const ConvolutionTable& table : profile.convolution) {
        Lookup& lookup = tables_.emplace_back(Lookup{&table, {}, {}});
        for (const ConvolutionPoint& p : table.points) {
            lookup.scatter.add(coordinates(p.shape));
            lookup.ratio.push_back(static_cast<float>(std::log(p.seconds / convolution_roofline(p.shape, machine_))));
            lookup.best_rate = std::max(lookup.best_rate, kernels::flops(p.shape) / p.seconds);
        }
    }
}

const ImagePredictor::Lookup* ImagePredictor::lookup(const kernels::Convolution& c) const {
    const auto found = std::ranges::find_if(
        tables_, [&](const Lookup& l) { return l.table->pass == c.pass && share_table(l.table->dtype, c.dtype); });
    return found == tables_.end() ? nullptr : &*found;
}

/// One row alone is the shape itself, or all there is. The neighbours' own spread is how far the answer may be off.
Estimate ImagePredictor::interpolated(const Lookup& lookup, const kernels::Convolution& c) const {
    double ratio = 0, square = 0, half_width = 0, largest = 0;
    for (const Weight& w : lookup.scatter.weights(coordinates(c))) {
        const ConvolutionPoint& p = lookup.table->points[w.index];
        ratio += w.weight * lookup.ratio[w.index];
        square += w.weight * std::pow(lookup.ratio[w.index], 2);
        half_width += w.weight * p.half_width;
    }
    for (const ConvolutionPoint& p : lookup.table->points) largest = std::max(largest, kernels::flops(p.shape));
    const double spread = std::sqrt(std::max(0.0, square - ratio * ratio));
    return {convolution_roofline(c, machine_) * std::exp(ratio), kernels::flops(c) > largest,
            std::hypot(spread, half_width), half_width};
}

std::string ImagePredictor::explain_rows(const Lookup& lookup, const kernels::Convolution& c) const {
    std::string out = fmt::format("  table convolution {} {} ({})\n", kernels::name(lookup.table->dtype),
                                  kernels::name(lookup.table->pass), lookup.table->provenance.origin);
    for (const Weight& w : lookup.scatter.weights(coordinates(c))) {
        const ConvolutionPoint& p = lookup.table->points[w.index];
        out += to_text(w, kernels::to_text(p.shape), p.seconds);
    }
    return out;
}

Estimate ImagePredictor::at_table_clock(const kernels::Convolution& asked) const {
    const kernels::Convolution c = as_run(asked);
    if (const Lookup* table = lookup(c)) return interpolated(*table, c);
    const double roofline = convolution_roofline(c, machine_);
    if (!has_products_) return derived({roofline / untabled_share, true}, from_products);
    const kernels::Gemm product = implicit_gemm(c);
    Estimate out = gemm_.at_table_clock(product);
    out.seconds *= roofline / gemm_roofline(product, machine_);
    return derived(out, from_products);
}

Estimate ImagePredictor::estimate(const kernels::Convolution& c) const {
    Estimate out = at_table_clock(c);
    const Lookup* table = lookup(c);
    const double product = best_rate_ * machine_.peak(c.dtype) / machine_.half_flops,
                 best = std::max(product, table == nullptr ? 0 : table->best_rate),
                 sustained = c.dtype == kernels::Dtype::fp32 ? sustained_single_ : sustained_;
    out.seconds = std::max(out.seconds, sustained_floor(kernels::flops(c), best, sustained));
    return out;
}

Estimate ImagePredictor::estimate(const kernels::Pooling& p) const {
    return derived(pointwise_.estimate(stream(p)), from_additions);
}

Estimate ImagePredictor::estimate(const kernels::BatchNorm& b) const {
    return derived(pointwise_.estimate(stream(b)), from_additions);
}

std::string ImagePredictor::explain(const kernels::Convolution& asked) const {
    const Estimate total = estimate(asked);
    const kernels::Convolution c = as_run(asked);
    std::string out = fmt::format("{}: {}\n", kernels::to_text(asked), format_seconds(total.seconds));
    if (const Lookup* table = lookup(c)) return out + explain_rows(*table, c);
    out += "  never measured: ";
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
