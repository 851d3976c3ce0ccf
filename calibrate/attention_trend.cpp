#include "calibrate/attention_trend.hpp"

#include <algorithm>
#include <cmath>

namespace orrery::calibrate {

kernels::Attention shape_of(const AttentionPoint& p, const AttentionTable& table) {
    kernels::Attention shape{table.dtype.value_or(kernels::Dtype::bf16),
                             table.backward,
                             table.causal,
                             p.batch,
                             p.seq,
                             p.heads,
                             p.kv_heads,
                             p.head_dim};
    shape.dropout = table.dropout;
    return shape;
}

namespace {

constexpr std::size_t smooth_coordinates = 4;

/// A format that the table does not hold takes the table's times, scaled as the rooflines differ.
ScatteredShape described(const kernels::Attention& a, const Machine& machine, kernels::Dtype table) {
    kernels::Attention measured = a;
    measured.dtype = table;
    const double roofline = attention_roofline(a, machine);
    return {{std::log(a.seq), std::log(static_cast<double>(a.batch) * a.heads),
             std::log(static_cast<double>(a.heads) / a.kv_heads), std::log(a.head_dim)},
            parts_of(a, machine),
            roofline,
            table == a.dtype ? 1.0 : roofline / attention_roofline(measured, machine)};
}

std::vector<ScatteredShape> shapes_of(const AttentionTable& table, const Machine& machine) {
    std::vector<ScatteredShape> shapes;
    for (const AttentionPoint& p : table.points) {
        const kernels::Attention shape = shape_of(p, table);
        shapes.push_back(described(shape, machine, shape.dtype));
    }
    return shapes;
}

}  // namespace

CostTerms parts_of(const kernels::Attention& a, const Machine& machine) {
    constexpr double block = 128;
    const double heads = static_cast<double>(a.batch) * a.heads, length = a.seq, width = a.head_dim;
    const double pairs = heads * a.pairs(), rows = heads * length * width;
    const double blocks = heads * std::ceil(length / block);
    const double later = std::max(0.0, 1 - machine.multiprocessors / blocks);
    const double of_keys = a.backward ? length * a.heads / a.kv_heads : 0;
    return {1, length * width, length, of_keys * width, pairs * width, pairs, rows, later * rows};
}

bool is_scattered(const AttentionTable& table) {
    return table.points.size() >= 2 * cost_terms && has_half_widths(table.points);
}

AttentionScatter::AttentionScatter(const AttentionTable& table, const Machine& machine)
    : dtype_(table.dtype.value_or(kernels::Dtype::bf16)),
      times_(shapes_of(table, machine), seconds_of(table.points), smooth_coordinates, table.scatter) {}

ScatteredTimes::Answer AttentionScatter::at(const kernels::Attention& attention, const Machine& machine) const {
    return times_.at(described(attention, machine, dtype_));
}

}  // namespace orrery::calibrate
