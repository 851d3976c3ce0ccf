#include "sim/collective/in_network.hpp"

#include "sim/collective/ring.hpp"

namespace orrery::sim {

Outline in_network_outline(const Shape& shape) {
    if (shape.ranks <= 1) return {};
    const double l = shape.local();
    Outline outline;
    outline.inner_steps = l > 1 ? 2 : 0;
    outline.outer_steps = shape.nodes > 1 ? 1 : 0;
    outline.node_bytes = shape.nodes > 1 ? 1 : 0;
    outline.rank_bytes = 2 * (l - 1) / l;
    return outline;
}

Schedule in_network_schedule(const Group& group, double bytes) {
    Schedule schedule{{Phase{ring_hops(group, bytes, false)}}, true};
    std::vector<Leg>& legs = schedule.phases.front().legs;
    for (std::uint32_t i = 0; i < group.nodes(); ++i) {
        const auto here = group.node(i);
        const double share = bytes / static_cast<double>(here.size());
        for (const auto from : here)
            for (const auto to : here) {
                if (from == to) continue;
                legs.push_back({from, to, share, from});  // to the GPU that reduces this share
                legs.push_back({to, from, share, to});    // the result back
            }
    }
    return schedule;
}

}  // namespace orrery::sim
