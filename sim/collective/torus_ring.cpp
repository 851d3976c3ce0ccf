#include "sim/collective/torus_ring.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <numeric>
#include <span>
#include <vector>

#include "base/error.hpp"

namespace orrery::sim {

using kernels::CollectiveKind;

namespace {

/// The grid's extents and, last, the slices where there are several.
std::vector<std::uint32_t> dimensions(const Grid& grid) {
    std::vector<std::uint32_t> all = grid.extents;
    if (grid.slices > 1) all.push_back(grid.slices);
    return all;
}

}  // namespace

Outline torus_ring_outline(CollectiveKind kind, const Shape& shape) {
    Outline outline;
    double ranks = 1;
    for (const std::uint32_t d : dimensions(shape.grid)) {
        outline.outer_steps += d - 1.0;
        ranks *= d;
    }
    const double rounds = kind == CollectiveKind::all_reduce ? 2 : 1;
    outline.outer_steps *= rounds;
    outline.sequential = true;
    outline.node_bytes = rounds * (ranks - 1) / ranks;
    return outline;
}

namespace {

using Extents = std::span<const std::uint32_t>;

/// One part around the rings of one dimension; every rank sends `bytes` to its next, or its previous.
void around(const Group& group, Extents extents, std::size_t dimension, bool forward, double bytes, Phase& phase) {
    std::uint32_t stride = 1;
    for (std::size_t d = 0; d < dimension; ++d) stride *= extents[d];
    const std::uint32_t extent = extents[dimension];
    if (extent < 2 || bytes <= 0) return;
    const auto& gpus = group.gpus();
    for (std::uint32_t r = 0; r < group.ranks(); ++r) {
        const std::uint32_t at = r / stride % extent, next = forward ? (at + 1) % extent : (at + extent - 1) % extent;
        const auto to = gpus[r - at * stride + next * stride];
        phase.legs.push_back({gpus[r], to, bytes, gpus[r]});
    }
}

/// Of one of the 2m parts of `bytes`, m extents being a grid's own: use(turn, the dimension that it goes along, what a
/// rank sends there).
template <class Use>
void each_turn(Extents extents, std::size_t m, std::size_t part, double bytes, const Use& use) {
    double left = bytes / static_cast<double>(2 * m);
    for (std::size_t turn = 0; turn < extents.size(); ++turn) {
        const std::size_t dimension = turn < m ? (part + turn) % m : turn;
        use(turn, dimension, left * (extents[dimension] - 1.0) / extents[dimension]);
        left /= extents[dimension];
    }
}

const Grid& checked_grid(const Group& group) {
    const Grid& grid = group.grid();
    const auto cells =
        std::accumulate(grid.extents.begin(), grid.extents.end(), std::uint64_t{grid.slices}, std::multiplies<>{});
    if (cells != group.ranks() || grid.empty())
        throw Error(fmt::format("a grid of {} for {} ranks", fmt::join(dimensions(grid), " x "), group.ranks()),
                    "its extents multiply to the number of ranks");
    return grid;
}

}  // namespace

Schedule torus_ring_schedule(CollectiveKind kind, const Group& group, double bytes) {
    const Grid& grid = checked_grid(group);
    const std::vector<std::uint32_t> extents = dimensions(grid);
    const std::size_t m = grid.extents.size();
    std::vector<Phase> halves(extents.size());
    for (std::size_t part = 0; part < 2 * m; ++part)
        each_turn(extents, m, part, bytes, [&](std::size_t turn, std::size_t dimension, double sent) {
            around(group, extents, dimension, part < m, sent, halves[turn]);
        });
    Schedule schedule{{}, grid.slices > 1};
    if (kind != CollectiveKind::all_gather) schedule.phases = halves;
    if (kind != CollectiveKind::reduce_scatter)
        for (std::size_t turn = halves.size(); turn > 0; --turn) schedule.phases.push_back(halves[turn - 1]);
    return schedule;
}

std::vector<Leg> torus_ring_hops(const Group& group, double bytes) {
    const Grid& grid = checked_grid(group);
    const std::vector<std::uint32_t> extents = dimensions(grid);
    const std::size_t m = grid.extents.size();
    std::vector<double> along(extents.size(), 0.0);  // what a rank sends one way, by dimension
    const double whole = bytes / kernels::bus_factor(CollectiveKind::all_gather, group.ranks());
    for (std::size_t part = 0; part < m; ++part)
        each_turn(extents, m, part, whole,
                  [&](std::size_t, std::size_t dimension, double sent) { along[dimension] += sent; });
    Phase phase;
    for (std::size_t dimension = 0; dimension < along.size(); ++dimension)
        for (const bool forward : {true, false}) around(group, extents, dimension, forward, along[dimension], phase);
    return phase.legs;
}

}  // namespace orrery::sim
