#include "sim/collective/broadcast.hpp"

#include <bit>

#include "sim/collective/tree.hpp"

namespace orrery::sim {

namespace {

/// Along the GPUs of a node from `first`, each rail's share.
void along(std::span<const topology::GpuId> here, std::uint32_t first, double share, std::vector<Leg>& legs) {
    for (std::size_t k = 0; k + 1 < here.size(); ++k) {
        const auto from = here[(first + k) % here.size()], to = here[(first + k + 1) % here.size()];
        legs.push_back({from, to, share, from});
    }
}

}  // namespace

Schedule chain_broadcast_schedule(const Group& group, double bytes) {
    Schedule schedule{{Phase{}}, true};
    std::vector<Leg>& legs = schedule.phases.front().legs;
    const std::uint32_t rails = group.rails(), nodes = group.nodes();
    for (std::uint32_t i = 0; i < nodes; ++i) {
        const auto here = group.node(i);
        for (std::uint32_t rail = 0; rail < rails; ++rail) {
            const std::uint32_t first = i == 0 ? 0 : rail;  // every rail starts at the root
            along(here, first, bytes / rails, legs);
            if (i + 1 == nodes) continue;
            const auto last = here[(first + here.size() - 1) % here.size()];
            legs.push_back({last, group.node(i + 1)[rail], bytes / rails, here[rail]});
        }
    }
    return schedule;
}

Outline tree_broadcast_outline(const Shape& shape) {
    if (shape.ranks <= 1) return {};
    Outline outline;
    outline.inner_steps = outline.inner_depth = shape.local() - 1;
    outline.outer_steps = outline.outer_depth = std::bit_width(shape.nodes) - 1;
    outline.node_bytes = shape.nodes < 2 ? 0 : shape.nodes < 4 ? 1 : 2;
    outline.rank_bytes = shape.local() > 1 ? 1 : 0;
    return outline;
}

Schedule tree_broadcast_schedule(const Group& group, double bytes) {
    Schedule schedule{{Phase{}}, true};
    std::vector<Leg>& legs = schedule.phases.front().legs;
    const std::uint32_t rails = group.rails();
    const std::vector<std::uint32_t> parent = binary_tree(group.nodes());
    for (std::uint32_t i = 0; i < group.nodes(); ++i)
        for (std::uint32_t rail = 0; rail < rails; ++rail) {
            along(group.node(i), i == 0 ? 0 : rail, bytes / rails, legs);
            if (parent[i] == i) continue;
            const auto above = group.node(parent[i])[rail];
            legs.push_back({above, group.node(i)[rail], bytes / rails, above});
        }
    return schedule;
}

}  // namespace orrery::sim
