#include "run/slices.hpp"

namespace orrery::run {

namespace {

using Split = strategies::Parameter::Split;
using Rows = std::vector<std::pair<std::uint64_t, std::uint64_t>>;

/// Of every part (queries, keys, values; gate, up), which begin behind row `first`, this rank's share.
std::uint64_t append_parts(Rows& rows, const strategies::Parameter& parameter, const Place& place,
                           std::uint64_t first) {
    const std::uint64_t ranks = parameter.split == Split::rows ? place.plan.strategy.tensor : 1;
    for (const std::uint64_t part : parameter.parts) {
        const std::uint64_t share = part / ranks;
        rows.emplace_back(first + (ranks > 1 ? place.tensor() * share : 0), share);
        first += part;
    }
    return first;
}

/// Experts follow each other among the ranks of an expert group, tensor ranks included where experts are left whole.
Rows rows_of_experts(const strategies::Parameter& parameter, const Place& place) {
    const strategies::Plan& plan = place.plan;
    const std::uint64_t along = place.along(strategies::Axis::expert);
    const std::uint64_t holder = plan.experts_split() ? along : along * plan.strategy.tensor + place.tensor();
    const std::uint64_t held = plan.rank_experts(parameter.experts);
    std::uint64_t each = 0;
    for (const std::uint64_t part : parameter.parts) each += part;
    Rows rows;
    for (std::uint64_t expert = holder * held; expert < (holder + 1) * held; ++expert)
        append_parts(rows, parameter, place, expert * each);
    return rows;
}

}  // namespace

Slice slice_of(const strategies::Parameter& parameter, const Place& place, const std::string& prefix) {
    Slice slice{.name = prefix + parameter.name,
                .initial = parameter.initial,
                .rows = {},
                .cols = parameter.cols,
                .global_cols = parameter.cols,
                .real_rows = parameter.real_rows,
                .replicated = parameter.replicated,
                .counted = !parameter.shared_words && !(parameter.alike && place.tensor() != 0),
                .expert = parameter.experts > 0};
    if (slice.expert)
        slice.rows = rows_of_experts(parameter, place);
    else
        append_parts(slice.rows, parameter, place, 0);
    if (parameter.split == Split::cols) {
        slice.cols /= place.plan.strategy.tensor;
        slice.first_col = place.tensor() * slice.cols;
    }
    return slice;
}

}  // namespace orrery::run
