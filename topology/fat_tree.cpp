#include "topology/fat_tree.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/error.hpp"

namespace orrery::topology {

namespace {

std::uint32_t ceil_div(std::uint32_t a, std::uint32_t b) { return (a + b - 1) / b; }

/// The smallest divisor of `whole` that is at least `least`; 0 if there is none.
std::uint32_t divisor_at_least(std::uint32_t whole, std::uint32_t least) {
    for (std::uint32_t d = std::max(least, 1U); d <= whole; ++d) {
        if (whole % d == 0) return d;
    }
    return 0;
}

/// Spines that join `leaves` leaves with `up` cables each, `down_ports` ports of a spine facing the leaves.
std::uint32_t spines_for(std::uint32_t leaves, std::uint32_t up, std::uint32_t down_ports) {
    return divisor_at_least(up, ceil_div(leaves * up, down_ports));
}

/// Splits each plane into groups and joins their spines by cores, with as many cables up as down of every spine.
bool add_core(FatTree& t, std::uint32_t ports, std::uint32_t most_leaves) {
    const std::uint32_t half = ports / 2, limit = most_leaves == 0 ? half : std::min(half, most_leaves);
    const std::uint32_t groups_per_plane = ceil_div(t.rows, limit);
    t.tiers = 3;
    t.leaves_per_group = ceil_div(t.rows, groups_per_plane);
    t.groups = t.planes * groups_per_plane;
    t.spines_per_group = spines_for(t.leaves_per_group, t.leaf_up, half);
    if (t.spines_per_group == 0) return false;
    t.leaf_cables = t.leaf_up / t.spines_per_group;
    t.spine_up = t.leaves_per_group * t.leaf_cables;
    // The fewest core switches: spine i of every group goes to core group i % core_groups.
    std::uint32_t fewest = 0;
    for (std::uint32_t cables = 1; cables <= t.spine_up; ++cables) {
        const std::uint64_t needed = std::uint64_t{t.groups} * t.spines_per_group * cables;
        if (t.spine_up % cables != 0 || needed > std::uint64_t{ports} * t.spines_per_group) continue;
        const std::uint32_t core_groups =
            divisor_at_least(t.spines_per_group, static_cast<std::uint32_t>((needed + ports - 1) / ports));
        const std::uint32_t cores = core_groups * (t.spine_up / cables);
        if (core_groups == 0 || (fewest != 0 && cores >= fewest)) continue;
        fewest = cores;
        t.core_groups = core_groups;
        t.cores_per_group = t.spine_up / cables;
        t.spine_cables = cables;
    }
    return fewest != 0;
}

void one_switch(FatTree& t) {
    t.tiers = 1;
    t.planes = t.rows = t.groups = t.leaves_per_group = 1;
    t.nodes_per_leaf = t.nodes;
    t.leaf_up = 0;
}

/// Nothing when the switches have too few ports for this many nodes. Needs a leaf that holds at least one node.
std::optional<FatTree> try_plan(const FatTreeSpec& spec) {
    FatTree t;
    t.nodes = spec.nodes;
    t.nics_per_node = spec.nics_per_node;
    t.planes = spec.planes;
    if (spec.nodes == 1) return t;
    if (spec.one_switch && std::uint64_t{spec.nodes} * spec.nics_per_node <= spec.ports) {
        one_switch(t);
        return t;
    }
    const auto most_up = static_cast<std::uint32_t>(spec.ports / (1 + spec.oversubscription));
    const auto most_down = static_cast<std::uint32_t>(most_up * spec.oversubscription);
    t.nodes_per_leaf = most_down / t.nics_per_leaf_and_node();
    const std::uint32_t down = t.nodes_per_leaf * t.nics_per_leaf_and_node();
    t.leaf_up = std::min(most_up, static_cast<std::uint32_t>(std::max(1.0, down / spec.oversubscription)));
    t.rows = ceil_div(t.nodes, t.nodes_per_leaf);
    if (t.leaves() <= spec.ports) {
        t.tiers = 2;
        t.groups = 1;
        t.leaves_per_group = t.leaves();
        t.spines_per_group = spines_for(t.leaves(), t.leaf_up, spec.ports);
        if (t.spines_per_group != 0) {
            t.leaf_cables = t.leaf_up / t.spines_per_group;
            return t;
        }
    }
    if (!add_core(t, spec.ports, spec.leaves_per_group)) return std::nullopt;
    return t;
}

/// A leaf must have room for a node's NICs of one plane and an uplink.
void check_leaf(const FatTreeSpec& spec) {
    if (spec.planes == 0 || spec.nics_per_node % spec.planes != 0) {
        throw Error("", "/cluster/nics_per_node",
                    fmt::format("{} NICs cannot be spread over {} planes", spec.nics_per_node, spec.planes),
                    fmt::format("nearest legal values: multiples of {}", spec.planes));
    }
    if (!(spec.oversubscription >= 1 && spec.oversubscription <= spec.ports - 1)) {
        throw Error("", "/cluster/oversubscription",
                    fmt::format("{} is not a ratio of leaf down to up ports", spec.oversubscription),
                    fmt::format("legal values: 1 (non-blocking) to {}", spec.ports - 1));
    }
    const double up = static_cast<std::uint32_t>(spec.ports / (1 + spec.oversubscription));
    const auto down = static_cast<std::uint32_t>(up * spec.oversubscription);
    if (down < spec.nics_per_node / spec.planes) {
        throw Error("", "/cluster/nics_per_node",
                    fmt::format("{} NICs of a node do not fit on a leaf with {} ports for nodes",
                                spec.nics_per_node / spec.planes, down),
                    fmt::format("nearest legal value: {}", down * spec.planes));
    }
}

}  // namespace

FatTree plan_fat_tree(const FatTreeSpec& spec) {
    check_leaf(spec);
    if (const auto tree = try_plan(spec)) return *tree;
    throw Error("", "/cluster/nodes",
                fmt::format("{} nodes with {} NICs are more than three tiers of {}-port switches can join", spec.nodes,
                            spec.nics_per_node, spec.ports),
                fmt::format("nearest legal value: {}", max_nodes(spec)));
}

std::uint32_t max_nodes(FatTreeSpec spec) {
    check_leaf(spec);
    // Feasibility changes only from row to row of leaves; find the last feasible row by halving, for it is monotone
    // in the number of groups.
    std::uint32_t low = 1;
    auto high = static_cast<std::uint32_t>(
        std::min<std::uint64_t>(std::uint64_t{spec.ports} * spec.ports * spec.ports, 1U << 24));
    while (low + 1 < high) {
        spec.nodes = low + (high - low) / 2;
        (try_plan(spec) ? low : high) = spec.nodes;
    }
    return low;
}

std::uint32_t FatTree::leaf_of(std::uint32_t node, std::uint32_t nic) const {
    return (nic % planes) * rows + node / nodes_per_leaf;
}

std::uint32_t FatTree::slot_of(std::uint32_t node, std::uint32_t nic) const {
    return node % nodes_per_leaf * nics_per_leaf_and_node() + nic / planes;
}

std::uint32_t FatTree::group_of(std::uint32_t leaf) const {
    return tiers < 3 ? 0 : leaf / rows * (groups / planes) + leaf % rows / leaves_per_group;
}

std::uint32_t FatTree::index_in_group(std::uint32_t leaf) const {
    return tiers < 3 ? leaf : leaf % rows % leaves_per_group;
}

std::uint32_t FatTree::core_of(std::uint32_t spine, std::uint32_t k) const {
    return spine % spines_per_group % core_groups * cores_per_group + k;
}

}  // namespace orrery::topology
