#include "sim/collective/all_to_all.hpp"

#include "base/error.hpp"

namespace orrery::sim {

using kernels::CollectiveKind;

Outline direct_outline(CollectiveKind, const Shape& shape) {
    const double n = shape.ranks, l = shape.local();
    if (shape.ranks <= 1) return {};
    Outline outline;
    outline.inner_steps = shape.nodes == 1 ? 1 : 0;
    outline.outer_steps = shape.nodes > 1 ? 1 : 0;
    outline.posts = n - 1;
    outline.node_bytes = l * (n - l) / n;
    outline.rank_bytes = (l - 1) / n;
    return outline;
}

Schedule direct_schedule(CollectiveKind, const Group& group, double bytes) {
    Phase phase;
    if (group.ranks() > 1) phase.pair_bytes = bytes / group.ranks();
    return {{phase}, true};
}

Outline pairwise_outline(const Shape& shape) {
    Outline outline = direct_outline(CollectiveKind::all_to_all, shape);
    outline.posts = 0;
    outline.sequential = true;
    outline.outer_steps = shape.ranks - shape.local();
    outline.inner_steps = shape.local() - 1;
    return outline;
}

Schedule pairwise_schedule(const Group& group, double bytes) {
    Schedule schedule;
    const std::uint32_t n = group.ranks();
    const auto& gpus = group.gpus();
    for (std::uint32_t round = 1; round < n; ++round) {
        Phase& phase = schedule.phases.emplace_back();
        for (std::uint32_t r = 0; r < n; ++r)
            phase.legs.push_back({gpus[r], gpus[(r + round) % n], bytes / n, gpus[r]});
    }
    return schedule;
}

Outline pxn_outline(const Shape& shape) {
    Outline outline = direct_outline(CollectiveKind::all_to_all, shape);
    if (shape.nodes <= 1) return outline;
    const double n = shape.ranks, l = shape.local();
    outline.inner_steps = l > 1 ? 1 : 0;
    outline.posts = n / l - 1 + (l - 1);
    outline.rank_bytes = (l - 1) / n + (n - l) / n * (l - 1) / l;  // and what goes by another GPU's NIC
    return outline;
}

Schedule pxn_schedule(const Group& group, double bytes) {
    Schedule schedule = direct_schedule(CollectiveKind::all_to_all, group, bytes);
    schedule.phases.front().forwarded = true;
    return schedule;
}

Outline hierarchical_all_to_all_outline(const Shape& shape) {
    if (shape.ranks <= 1) return {};
    const double l = shape.local(), k = shape.nodes;
    Outline outline;
    outline.inner_steps = l > 1 ? 1 : 0;
    outline.outer_steps = k > 1 ? 1 : 0;
    outline.posts = (l - 1) + (k - 1);
    outline.node_bytes = l * (k - 1) / k;
    outline.rank_bytes = (l - 1) / l;
    outline.sequential = true;
    outline.launches = (l > 1 ? 1 : 0) + (k > 1 ? 1 : 0);
    return outline;
}

namespace {

/// So many bytes from every member to each other one of its node.
void add_pairs_of_nodes(const Group& group, double bytes, std::vector<Leg>& legs) {
    for (std::uint32_t i = 0; i < group.nodes(); ++i)
        for (const auto from : group.node(i))
            for (const auto to : group.node(i))
                if (from != to) legs.push_back({from, to, bytes, from});
}

/// So many bytes from every member to the one on its rail in each other node; smaller nodes serve several rails.
void add_rails(const Group& group, double bytes, std::vector<Leg>& legs) {
    for (std::uint32_t i = 0; i < group.nodes(); ++i)
        for (std::uint32_t j = 0; j < group.nodes(); ++j) {
            const auto here = group.node(i), there = group.node(j);
            for (std::size_t rail = 0; i != j && rail < here.size(); ++rail)
                legs.push_back({here[rail], there[rail % there.size()], bytes, here[rail]});
        }
}

}  // namespace

Schedule hierarchical_all_to_all_schedule(const Group& group, double bytes) {
    const std::uint32_t local = group.rails(), nodes = group.nodes();
    if (local * nodes != group.ranks())
        throw Error("a hierarchical all_to_all needs as many members in every node", "use direct or pxn");
    Schedule schedule{{Phase{}, Phase{}}, false};
    add_pairs_of_nodes(group, bytes / local, schedule.phases[0].legs);
    add_rails(group, bytes / nodes, schedule.phases[1].legs);
    return schedule;
}

Outline once_a_node_outline(const Shape& shape) {
    Outline outline = direct_outline(CollectiveKind::all_to_all, shape);
    if (shape.nodes <= 1) return outline;
    const double l = shape.local();
    outline.inner_steps = l > 1 ? 1 : 0;
    outline.posts = shape.nodes - 1 + (l - 1);
    outline.node_bytes *= shape.once;
    outline.rank_bytes = (l - 1) / l;  // of all that a rank's share of its node lets in
    return outline;
}

Schedule once_a_node_schedule(const Group& group, double bytes) {
    Schedule schedule{{Phase{}}, true};
    const Shape shape = group.shape();
    const double l = shape.local(), across = bytes * l / shape.ranks * shape.once;
    add_pairs_of_nodes(group, bytes / l, schedule.phases[0].legs);
    add_rails(group, across, schedule.phases[0].legs);
    return schedule;
}

}  // namespace orrery::sim
