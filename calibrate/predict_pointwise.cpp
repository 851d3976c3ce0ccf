#include "calibrate/predict_pointwise.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/units.hpp"

namespace orrery::calibrate {

namespace {

using Kind = kernels::PointwiseKind;

/// Without any table: a plain copy reaches about 85% of the datasheet's bandwidth (BabelStream on A100 and H100).
constexpr double untabled_share = 0.85;
/// Shortest kernel without any table, the least that Vidur measured on A100 and H100.
constexpr double untabled_latency = 2e-6;

/// Rows of some KiB, each at an address of its own: 2,646 of the H100's 3,350 GB/s (FBGEMM, pull request 3993:
/// gather_along_first_dim; gather_scale_dense_tokens 2,771, scatter_add_along_first_dim 2,536). PyTorch's index_select,
/// which the tables of embeddings hold, reaches a third of it (PyTorch, pull request 145999).
constexpr double gathered_share = 2646.0 / 3350.0;

constexpr bool gathers(Kind kind) { return kind == Kind::permute || kind == Kind::unpermute; }

constexpr std::string_view untabled = "memory-bound kernels from the datasheet";

/// Half-widths are interpolated as logarithms like times: a floor keeps them positive.
constexpr double least_half_width = 1e-9;

/// Without a reading of long streams nothing holds the tables down.
double sustained_share(const Profile& profile) {
    const auto found = profile.constants.find("sustained_memory");
    return found == profile.constants.end() ? std::numeric_limits<double>::infinity() : found->second.value;
}

}  // namespace

Kind stand_in(Kind kind) {
    switch (kind) {
        case Kind::layernorm_backward:
        case Kind::rmsnorm:
        case Kind::rmsnorm_backward: return Kind::layernorm;  // one pass with a row reduction, held in registers
        case Kind::softmax_backward:
        case Kind::cross_entropy:
        case Kind::cross_entropy_backward:
        case Kind::cross_entropy_maximum:
        case Kind::cross_entropy_part:
        case Kind::cross_entropy_part_backward:
        case Kind::moe_gate: return Kind::softmax;  // row maximum and sum, exponentials
        case Kind::gelu_backward:
        case Kind::swiglu:
        case Kind::swiglu_backward: return Kind::gelu;  // elementwise with a transcendental function
        case Kind::rope_backward: return Kind::rope;
        case Kind::embedding_backward: return Kind::embedding;  // rows at random addresses, by PyTorch's index_select
        case Kind::relu:
        case Kind::relu_backward:
        case Kind::dropout:
        case Kind::dropout_backward:
        case Kind::bias_dropout_add:
        case Kind::bias_dropout_add_backward:
        case Kind::log_add_exp:
        case Kind::softmax_merge:
        case Kind::scale:
        case Kind::bias_gradient:
        case Kind::transpose:
        case Kind::cast:
        case Kind::fill:
        case Kind::adam:
        case Kind::sum_of_squares:
        case Kind::permute:                      // streams of rows, held down by gathered_share
        case Kind::unpermute: return Kind::add;  // plain streams
        case Kind::layernorm:
        case Kind::softmax:
        case Kind::gelu:
        case Kind::rope:
        case Kind::embedding:
        case Kind::add: return kind;
    }
    return kind;
}

PointwisePredictor::Lookup PointwisePredictor::make_lookup(const PointwiseTable& table) {
    Lookup out{&table, {}};
    for (std::size_t first = 0, end = 0; first < table.points.size(); first = end) {
        std::vector<double> bytes, seconds, half_width;
        const std::uint64_t cols = table.points[first].cols;
        for (end = first; end < table.points.size() && table.points[end].cols == cols; ++end) {
            const auto& p = table.points[end];
            bytes.push_back(p.bytes);
            seconds.push_back(p.bytes / p.bytes_per_second);
            half_width.push_back(std::max(p.half_width, least_half_width));
        }
        out.widths.push_back({cols, first, Curve(bytes, seconds, true), Curve(bytes, half_width, false)});
    }
    return out;
}

PointwisePredictor::PointwisePredictor(const Profile& profile)
    : bytes_per_second_(profile.constants.at("memory_bytes_per_second").value),
      sustained_(sustained_share(profile) * bytes_per_second_) {
    for (const auto& table : profile.pointwise) {
        for (const auto& p : table.points) {
            const double seconds = p.bytes / p.bytes_per_second;
            latency_ = latency_ > 0 ? std::min(latency_, seconds) : seconds;
        }
        tables_.push_back(make_lookup(table));
    }
    if (latency_ == 0) latency_ = untabled_latency;
}

/// The kernel's kind before its stand-ins; for each, a table of the same format, else of any.
const PointwisePredictor::Lookup* PointwisePredictor::lookup(const kernels::Pointwise& kernel) const {
    for (const Kind kind : {kernel.kind, stand_in(kernel.kind), Kind::add}) {
        const Lookup* any = nullptr;
        for (const auto& t : tables_) {
            if (t.table->kind != kind) continue;
            if (t.table->dtype == kernel.dtype) return &t;
            if (any == nullptr) any = &t;
        }
        if (any != nullptr) return any;
    }
    return nullptr;
}

PointwisePredictor::Between PointwisePredictor::between(const Lookup& lookup, std::uint64_t cols) {
    const auto& widths = lookup.widths;
    const auto above = std::ranges::lower_bound(widths, cols, {}, &Width::cols);
    if (above == widths.begin()) return {&widths.front(), &widths.front(), 0};
    if (above == widths.end()) return {&widths.back(), &widths.back(), 0};
    const auto& below = *std::prev(above);
    const auto ln = [](std::uint64_t value) { return std::log(std::max(1.0, static_cast<double>(value))); };
    return {&below, &*above, (ln(cols) - ln(below.cols)) / (ln(above->cols) - ln(below.cols))};
}

/// Between the sizes: the measured curve. Below: falling in proportion to the bytes towards the shortest kernel of the
/// profile. Above: constant bandwidth.
Estimate PointwisePredictor::of_width(const Width& width, double bytes) const {
    const double low = width.seconds.first_x(), high = width.seconds.last_x(), spread = width.half_width.at(bytes);
    const double uncertainty = spread > least_half_width ? spread : 0;
    if (bytes < low) {
        const double floor = std::min(latency_, width.seconds.at(low));
        return {floor + (width.seconds.at(low) - floor) * bytes / low, true, uncertainty};
    }
    if (bytes > high) return {width.seconds.at(high) * bytes / high, true, uncertainty};
    return {width.seconds.at(bytes), false, uncertainty};
}

/// Between two measured widths of rows: ln time over ln cols.
Estimate PointwisePredictor::at_table_clock(const kernels::Pointwise& kernel) const {
    const double bytes = kernels::bytes(kernel);
    const Lookup* table = lookup(kernel);
    if (table == nullptr) return {latency_ + bytes / (bytes_per_second_ * untabled_share), true, 0, 0, untabled};
    const Between at = between(*table, kernel.cols);
    Estimate out = of_width(*at.low, bytes);
    if (at.share > 0) {
        const Estimate high = of_width(*at.high, bytes);
        out.seconds = std::exp((1 - at.share) * std::log(out.seconds) + at.share * std::log(high.seconds));
        out.extrapolated |= high.extrapolated;
        out.uncertainty += at.share * (high.uncertainty - out.uncertainty);
    }
    if (table->table->kind != kernel.kind) out.derived = "memory-bound kernels from others of like access";
    out.caches = out.uncertainty;
    return out;
}

double PointwisePredictor::longest_stream(const kernels::Pointwise& kernel) const {
    const Lookup* table = lookup(kernel);
    const bool measured = table != nullptr && table->table->kind == kernel.kind;
    return gathers(kernel.kind) && !measured && std::isfinite(sustained_)
               ? std::min(sustained_, gathered_share * bytes_per_second_)
               : sustained_;
}

Estimate PointwisePredictor::estimate(const kernels::Pointwise& kernel) const {
    Estimate out = at_table_clock(kernel);
    out.seconds = std::max(out.seconds, kernels::bytes(kernel) / longest_stream(kernel));
    return out;
}

std::string PointwisePredictor::explain(const kernels::Pointwise& kernel) const {
    const double bytes = kernels::bytes(kernel);
    const Estimate answer = estimate(kernel);
    std::string out = fmt::format("{}: {}, {} at {:.0f} GB/s\n", kernels::to_text(kernel),
                                  format_seconds(answer.seconds), format_bytes(bytes), bytes / answer.seconds / 1e9);
    const Lookup* table = lookup(kernel);
    if (table == nullptr)
        return out + fmt::format("  no table: {:.0f}% of the datasheet's bandwidth after {}\n", 100 * untabled_share,
                                 format_seconds(latency_));
    out += fmt::format("  table pointwise {}{} ({})\n", kernels::name(table->table->kind),
                       table->table->kind == kernel.kind ? "" : ", an estimate: stands in for a kind never measured",
                       table->table->provenance.origin);
    const auto& points = table->table->points;
    const Width& width = *between(*table, kernel.cols).low;
    const std::size_t before = width.first + width.seconds.before(bytes);
    for (std::size_t i = before; i < std::min(before + 2, points.size()) && points[i].cols == width.cols; ++i)
        out += fmt::format("  row {}: {} at {:.0f} GB/s\n", i, format_bytes(points[i].bytes),
                           points[i].bytes_per_second / 1e9);
    if (bytes < width.seconds.first_x())
        out += fmt::format("  below the table: towards {} for no bytes\n", format_seconds(latency_));
    if (bytes > width.seconds.last_x()) out += "  above the table: constant bandwidth\n";
    if (answer.seconds > at_table_clock(kernel).seconds)
        out += fmt::format("  no faster than a long stream{}: {:.0f} GB/s\n", gathers(kernel.kind) ? " of rows" : "",
                           longest_stream(kernel) / 1e9);
    return out;
}

}  // namespace orrery::calibrate
