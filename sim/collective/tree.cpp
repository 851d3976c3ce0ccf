#include "sim/collective/tree.hpp"

#include <algorithm>
#include <bit>

namespace orrery::sim {

using topology::GpuId;

/// The in-order tree: a node whose number ends in k zero bits stands at height k. 0 is the root, its only child the
/// highest power of two.
std::vector<std::uint32_t> binary_tree(std::uint32_t nodes) {
    std::vector<std::uint32_t> parent(nodes, 0);
    for (std::uint32_t i = 1; i < nodes; ++i) {
        const std::uint32_t bit = i & (~i + 1);
        std::uint32_t up = (i ^ bit) | (bit << 1);
        if (up >= nodes) up = i ^ bit;
        parent[i] = up;
    }
    return parent;
}

std::vector<std::uint32_t> second_tree(std::uint32_t nodes) {
    const std::vector<std::uint32_t> first = binary_tree(nodes);
    std::vector<std::uint32_t> parent(nodes);
    const auto image = [&](std::uint32_t i) { return nodes % 2 == 0 ? nodes - 1 - i : (i + 1) % nodes; };
    for (std::uint32_t i = 0; i < nodes; ++i) parent[image(i)] = image(first[i]);
    return parent;
}

namespace {

/// floor(log2 n), which NCCL counts as the depth of its trees.
double levels(std::uint32_t nodes) { return std::bit_width(nodes) - 1; }

/// What a node sends in both trees together, per byte: the largest over the nodes.
double busiest_node(std::uint32_t nodes) { return nodes < 2 ? 0 : nodes == 2 ? 1 : 2; }

/// Up and down between nodes, over `rails` pairs of trees side by side.
void add_trees(const Group& group, double bytes, std::vector<Leg>& legs) {
    const std::uint32_t rails = group.rails();
    const double share = bytes / 2 / rails;
    for (const auto& parent : {binary_tree(group.nodes()), second_tree(group.nodes())})
        for (std::uint32_t child = 0; child < group.nodes(); ++child) {
            if (parent[child] == child) continue;
            for (std::uint32_t rail = 0; rail < rails; ++rail) {
                const GpuId low = group.node(child)[rail], high = group.node(parent[child])[rail];
                legs.push_back({low, high, share, low});
                legs.push_back({high, low, share, high});
            }
        }
}

/// Along the GPUs of every node to each rail's own and back.
void add_chains(const Group& group, double bytes, std::vector<Leg>& legs) {
    const std::uint32_t rails = group.rails();
    for (std::uint32_t i = 0; i < group.nodes(); ++i) {
        const auto here = group.node(i);
        for (std::uint32_t rail = 0; rail < rails; ++rail)
            for (std::size_t k = 0; k + 1 < here.size(); ++k) {
                const GpuId near = here[(rail + k) % here.size()], far = here[(rail + k + 1) % here.size()];
                legs.push_back({far, near, bytes / rails, far});
                legs.push_back({near, far, bytes / rails, near});
            }
    }
}

}  // namespace

Outline tree_outline(const Shape& shape) {
    if (shape.ranks <= 1) return {};
    Outline outline;
    outline.inner_steps = outline.inner_depth = 2 * (shape.local() - 1);
    outline.outer_steps = outline.outer_depth = 2 * levels(shape.nodes);
    outline.node_bytes = busiest_node(shape.nodes);
    outline.rank_bytes = shape.local() > 1 ? 2 * (shape.local() - 1) / shape.local() : 0;
    return outline;
}

Schedule tree_schedule(const Group& group, double bytes) {
    Schedule schedule{{Phase{}}, true};
    add_chains(group, bytes, schedule.phases.front().legs);
    add_trees(group, bytes, schedule.phases.front().legs);
    return schedule;
}

Outline in_switch_tree_outline(const Shape& shape) {
    Outline outline = tree_outline(shape);
    outline.inner_steps = 0;  // in the calibrated all_reduce
    outline.inner_depth = 0;
    outline.in_switch = true;
    return outline;
}

/// A switch that reduces takes every member's bytes once and gives every member the result once; drawn as each rail's
/// GPU collecting its share from the others and spreading it.
Schedule in_switch_tree_schedule(const Group& group, double bytes) {
    Schedule schedule{{Phase{}}, true};
    std::vector<Leg>& legs = schedule.phases.front().legs;
    const std::uint32_t rails = group.rails();
    for (std::uint32_t i = 0; i < group.nodes(); ++i)
        for (std::uint32_t rail = 0; rail < rails; ++rail)
            for (const GpuId other : group.node(i)) {
                const GpuId head = group.node(i)[rail];
                if (other == head) continue;
                legs.push_back({other, head, bytes / rails, other});
                legs.push_back({head, other, bytes / rails, head});
            }
    add_trees(group, bytes, legs);
    return schedule;
}

}  // namespace orrery::sim
