#include "sim/collective/ring.hpp"

namespace orrery::sim {

using kernels::CollectiveKind;
using topology::GpuId;

Outline ring_outline(CollectiveKind kind, const Shape& shape) {
    const double n = shape.ranks, nodes = shape.nodes;
    if (shape.ranks <= 1) return {};
    const double rounds = kind == CollectiveKind::all_reduce ? 2 : 1;
    const double wire = kernels::bus_factor(kind, shape.ranks);
    Outline outline;
    outline.outer_steps = rounds * (nodes - 1);
    outline.inner_steps = rounds * (n - 1) - outline.outer_steps;
    outline.node_bytes = nodes > 1 ? wire : 0;
    outline.rank_bytes = wire;
    return outline;
}

std::vector<Leg> ring_hops(const Group& group, double bytes, bool inside) {
    std::vector<Leg> hops;
    if (group.ranks() <= 1) return hops;
    const std::uint32_t rails = group.rails(), nodes = group.nodes();
    const double share = bytes / rails;
    for (std::uint32_t i = 0; i < nodes; ++i) {
        const auto here = group.node(i), there = group.node((i + 1) % nodes);
        const std::size_t size = here.size();
        for (std::uint32_t ring = 0; ring < rails; ++ring) {
            // Ring r enters at GPU r, visits the others in order and leaves through the NIC that it came in by.
            const auto at = [&](std::size_t k) { return here[(ring + k) % size]; };
            for (std::size_t k = 0; inside && k + 1 < size; ++k) hops.push_back({at(k), at(k + 1), share, at(k)});
            const GpuId last = at(size - 1);
            if (nodes > 1) hops.push_back({last, there[ring], share, here[ring]});
            if (nodes == 1 && inside) hops.push_back({last, at(0), share, last});
        }
    }
    return hops;
}

Schedule ring_schedule(CollectiveKind kind, const Group& group, double bytes) {
    return {{Phase{ring_hops(group, kernels::bus_factor(kind, group.ranks()) * bytes, true)}}, true};
}

}  // namespace orrery::sim
