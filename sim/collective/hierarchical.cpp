#include "sim/collective/hierarchical.hpp"

#include "base/error.hpp"

namespace orrery::sim {

using topology::GpuId;

Outline hierarchical_outline(const Shape& shape) {
    if (shape.ranks <= 1) return {};
    const double l = shape.local(), k = shape.nodes;
    Outline outline;
    outline.inner_steps = 2 * (l - 1);
    outline.outer_steps = 2 * (k - 1);
    outline.node_bytes = 2 * (k - 1) / k;
    outline.rank_bytes = 2 * (l - 1) / l;
    outline.sequential = true;
    outline.launches = (l > 1 ? 2 : 0) + (k > 1 ? 1 : 0);
    return outline;
}

namespace {

/// Every GPU to the next of its node.
Phase inside(const Group& group, double bytes) {
    Phase phase;
    for (std::uint32_t i = 0; i < group.nodes(); ++i) {
        const auto here = group.node(i);
        for (std::size_t k = 0; here.size() > 1 && k < here.size(); ++k)
            phase.legs.push_back({here[k], here[(k + 1) % here.size()], bytes, here[k]});
    }
    return phase;
}

}  // namespace

Schedule hierarchical_schedule(const Group& group, double bytes) {
    const std::uint32_t local = group.rails(), nodes = group.nodes();
    if (local * nodes != group.ranks())
        throw Error("a hierarchical all_reduce needs as many members in every node", "use ring or tree");
    const double half = bytes * (local - 1.0) / local;
    Phase between;
    for (std::uint32_t i = 0; nodes > 1 && i < nodes; ++i)
        for (std::uint32_t rail = 0; rail < local; ++rail) {
            const GpuId from = group.node(i)[rail], to = group.node((i + 1) % nodes)[rail];
            between.legs.push_back({from, to, 2.0 * (nodes - 1) / nodes * bytes / local, from});
        }
    return {{inside(group, half), between, inside(group, half)}, false};
}

}  // namespace orrery::sim
