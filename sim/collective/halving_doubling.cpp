#include "sim/collective/halving_doubling.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "base/error.hpp"

namespace orrery::sim {

using kernels::CollectiveKind;

Outline halving_doubling_outline(CollectiveKind kind, const Shape& shape) {
    const std::uint32_t n = shape.ranks;
    if (n <= 1) return {};
    const std::uint32_t power = std::bit_floor(n);
    const double rounds = kind == CollectiveKind::all_reduce ? 2 : 1, folds = power < n ? 2 : 0;
    const double local = std::min<double>(power, shape.local()), p = power;
    Outline outline;
    outline.inner_steps = rounds * std::log2(local);
    outline.outer_steps = rounds * std::log2(p / local) + (shape.nodes > 1 ? folds : 0);
    if (shape.nodes == 1) outline.inner_steps += folds;
    // Between nodes a rank sends 1/(2 local), 1/(4 local), ... 1/p of the bytes.
    outline.node_bytes = shape.nodes > 1 ? local * rounds * (1 / local - 1 / p) : 0;
    outline.rank_bytes = rounds * (1 - 1 / local);
    outline.sequential = true;
    if (folds > 0 && shape.nodes > 1) outline.node_bytes += std::min<double>(n - power, shape.local());
    if (folds > 0 && shape.nodes == 1) outline.rank_bytes += 1;
    return outline;
}

Schedule halving_doubling_schedule(CollectiveKind kind, const Group& group, double bytes) {
    const std::uint32_t n = group.ranks(), power = std::bit_floor(n);
    if (n != power && kind != CollectiveKind::all_reduce)
        throw Error("recursive halving needs a power of two ranks for " + std::string(kernels::name(kind)), "use ring");
    const auto& gpus = group.gpus();
    Schedule schedule;
    const auto fold = [&](bool out) {
        if (n == power) return;
        Phase& phase = schedule.phases.emplace_back();
        for (std::uint32_t r = power; r < n; ++r) {
            const auto a = gpus[out ? r : r - power], b = gpus[out ? r - power : r];
            phase.legs.push_back({a, b, bytes, a});
        }
    };
    std::vector<std::uint32_t> distances;
    for (std::uint32_t d = 1; d < power; d *= 2) distances.push_back(d);
    const auto exchange = [&](std::uint32_t distance) {
        Phase& phase = schedule.phases.emplace_back();
        for (std::uint32_t r = 0; r < power; ++r)
            phase.legs.push_back({gpus[r], gpus[r ^ distance], bytes / (2.0 * distance), gpus[r]});
    };
    fold(true);
    if (kind != CollectiveKind::all_gather) std::ranges::for_each(distances, exchange);
    std::ranges::reverse(distances);
    if (kind != CollectiveKind::reduce_scatter) std::ranges::for_each(distances, exchange);
    fold(false);
    return schedule;
}

}  // namespace orrery::sim
