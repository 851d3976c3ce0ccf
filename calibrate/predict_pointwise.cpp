#include "calibrate/predict_pointwise.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/units.hpp"

namespace orrery::calibrate {

namespace {

using Kind = kernels::PointwiseKind;

/// Without any table: a plain copy reaches about 85% of the datasheet's bandwidth (BabelStream on A100 and H100).
constexpr double untabled_share = 0.85;
/// Shortest kernel without any table, the least that Vidur measured on A100 and H100.
constexpr double untabled_latency = 2e-6;

Curve curve(const PointwiseTable& table) {
    std::vector<double> bytes, seconds;
    for (const auto& p : table.points) {
        bytes.push_back(p.bytes);
        seconds.push_back(p.bytes / p.bytes_per_second);
    }
    return {bytes, seconds, true};
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
        case Kind::embedding_backward:
        case Kind::permute:
        case Kind::unpermute: return Kind::embedding;  // rows at random addresses
        case Kind::dropout:
        case Kind::dropout_backward:
        case Kind::bias_dropout_add:
        case Kind::bias_dropout_add_backward:
        case Kind::scale:
        case Kind::bias_gradient:
        case Kind::transpose:
        case Kind::cast:
        case Kind::fill:
        case Kind::adam:
        case Kind::sum_of_squares: return Kind::add;  // plain streams
        case Kind::layernorm:
        case Kind::softmax:
        case Kind::gelu:
        case Kind::rope:
        case Kind::embedding:
        case Kind::add: return kind;
    }
    return kind;
}

PointwisePredictor::PointwisePredictor(const Profile& profile)
    : bytes_per_second_(profile.constants.at("memory_bytes_per_second").value) {
    for (const auto& table : profile.pointwise) {
        for (const auto& p : table.points) {
            const double seconds = p.bytes / p.bytes_per_second;
            latency_ = latency_ > 0 ? std::min(latency_, seconds) : seconds;
        }
        tables_.emplace(table.kind, Lookup{&table, curve(table)});
    }
    if (latency_ == 0) latency_ = untabled_latency;
}

const PointwisePredictor::Lookup* PointwisePredictor::lookup(Kind kind) const {
    for (const Kind candidate : {kind, stand_in(kind), Kind::add})
        if (const auto found = tables_.find(candidate); found != tables_.end()) return &found->second;
    return nullptr;
}

/// Between the sizes: the measured curve. Below: falling in proportion to the bytes towards the shortest kernel of the
/// profile. Above: constant bandwidth.
Estimate PointwisePredictor::estimate(const kernels::Pointwise& kernel) const {
    const double bytes = kernels::bytes(kernel);
    const Lookup* table = lookup(kernel.kind);
    if (table == nullptr) return {latency_ + bytes / (bytes_per_second_ * untabled_share), true};
    const double low = table->seconds.first_x(), high = table->seconds.last_x();
    const bool stands_in = table->table->kind != kernel.kind;
    if (bytes < low) {
        const double floor = std::min(latency_, table->seconds.at(low));
        return {floor + (table->seconds.at(low) - floor) * bytes / low, true};
    }
    if (bytes > high) return {table->seconds.at(high) * bytes / high, true};
    return {table->seconds.at(bytes), stands_in};
}

std::string PointwisePredictor::explain(const kernels::Pointwise& kernel) const {
    const double bytes = kernels::bytes(kernel);
    const Estimate answer = estimate(kernel);
    std::string out = fmt::format("{}: {}, {} at {:.0f} GB/s\n", kernels::to_text(kernel),
                                  format_seconds(answer.seconds), format_bytes(bytes), bytes / answer.seconds / 1e9);
    const Lookup* table = lookup(kernel.kind);
    if (table == nullptr)
        return out + fmt::format("  no table: {:.0f}% of the datasheet's bandwidth after {}\n", 100 * untabled_share,
                                 format_seconds(latency_));
    out += fmt::format("  table pointwise {}{} ({})\n", kernels::name(table->table->kind),
                       table->table->kind == kernel.kind ? "" : ", an estimate: stands in for a kind never measured",
                       table->table->provenance.origin);
    const auto& points = table->table->points;
    const std::size_t before = table->seconds.before(bytes);
    for (std::size_t i = before; i < std::min(before + 2, points.size()); ++i)
        out += fmt::format("  row {}: {} at {:.0f} GB/s\n", i, format_bytes(points[i].bytes),
                           points[i].bytes_per_second / 1e9);
    if (bytes < points.front().bytes)
        out += fmt::format("  below the table: towards {} for no bytes\n", format_seconds(latency_));
    if (bytes > points.back().bytes) out += "  above the table: constant bandwidth\n";
    return out;
}

}  // namespace orrery::calibrate
