#include "topology/fat_tree_fabric.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace orrery::topology {

using namespace hardware;

namespace {

/// Traffic that enters (or leaves) one half of the nodes at a switch: what meets within a part stays there, the rest
/// goes up, as far as the cables allow.
struct Halves {
    double send = 0, receive = 0, met = 0;
    void close(double up) {
        const double here = std::min(send, receive);
        met += here;
        send = std::min(send - here, up);
        receive = std::min(receive - here, up);
    }
    Halves& operator+=(const Halves& other) {
        send += other.send, receive += other.receive, met += other.met;
        return *this;
    }
};

}  // namespace

std::string FatTreeFabric::describe() const {
    if (tree_.tiers == 0) return "no network: one node";
    if (tree_.tiers == 1) return "one switch";
    const double down = tree_.nodes_per_leaf * tree_.nics_per_leaf_and_node();
    const double ratio = down / tree_.leaf_up;
    return fmt::format("fat-tree of {} tiers{}, {}", tree_.tiers,
                       tree_.planes > 1 ? fmt::format(", {} rails", tree_.planes) : "",
                       ratio > 1 ? fmt::format("{:.3g} : 1 oversubscribed", ratio) : "non-blocking");
}

std::vector<Layer> FatTreeFabric::layers() const {
    std::vector<Layer> all{
        {VertexKind::leaf, tree_.leaves()}, {VertexKind::spine, tree_.spines()}, {VertexKind::core, tree_.cores()}};
    all.resize(tree_.tiers);
    return all;
}

std::uint32_t FatTreeFabric::paths(Port from, Port to) const {
    const std::uint32_t a = router_of(from), b = router_of(to);
    if (a == b) return 1;
    return tree_.spines_per_group * (tree_.group_of(a) == tree_.group_of(b) ? 1 : tree_.cores_per_group);
}

std::uint32_t FatTreeFabric::usual_path(Port from, Port to) const {
    const FatTree& t = tree_;
    const std::uint32_t a = router_of(from), b = router_of(to);
    if (a == b) return 0;
    const std::uint32_t cable = t.slot_of(to.node, to.nic) % t.leaf_up, spine = cable % t.spines_per_group;
    if (t.group_of(a) == t.group_of(b)) return spine;
    const std::uint32_t core = (t.index_in_group(b) * t.leaf_cables + cable / t.spines_per_group) % t.cores_per_group;
    return spine + core * t.spines_per_group;
}

std::uint32_t FatTreeFabric::stands_for(std::uint32_t trunk) const {
    return trunk < 2 * leaf_links() ? tree_.spines_per_group : tree_.spines_per_group * tree_.cores_per_group;
}

void FatTreeFabric::route_trunks(Port from, Port to, std::uint32_t path, std::uint32_t first,
                                 std::vector<std::uint32_t>& out) const {
    const FatTree& t = tree_;
    const std::uint32_t a = router_of(from), b = router_of(to);
    if (a == b) return;
    const std::uint32_t spine = path % t.spines_per_group, core = path / t.spines_per_group;
    const std::uint32_t ga = t.group_of(a), gb = t.group_of(b);
    out.push_back(first + a * t.spines_per_group + spine);
    if (ga != gb) {
        const std::uint32_t up = first + 2 * leaf_links();
        out.push_back(up + (ga * t.spines_per_group + spine) * t.cores_per_group + core);
        out.push_back(up + spine_links() + (gb * t.spines_per_group + spine) * t.cores_per_group + core);
    }
    out.push_back(first + leaf_links() + b * t.spines_per_group + spine);
}

std::uint32_t FatTreeFabric::trunks() const { return tree_.tiers == 0 ? 0 : 2 * (leaf_links() + spine_links()); }

Trunk FatTreeFabric::trunk(std::uint32_t id) const {
    const FatTree& t = tree_;
    const bool lower = id < 2 * leaf_links();
    const std::uint32_t count = lower ? leaf_links() : spine_links();
    const std::uint32_t at = lower ? id : id - 2 * leaf_links(), k = at % count;
    Trunk trunk{};
    if (lower) {
        const std::uint32_t leaf = k / t.spines_per_group;
        const std::uint32_t spine = t.group_of(leaf) * t.spines_per_group + k % t.spines_per_group;
        trunk = {leaf, t.leaves() + spine, t.leaf_cables, 2, spine_cable_metres};
    } else {
        const std::uint32_t spine = k / t.cores_per_group;
        const std::uint32_t core = t.core_of(spine, k % t.cores_per_group);
        trunk = {t.leaves() + spine, t.leaves() + t.spines() + core, t.spine_cables, 3, core_cable_metres};
    }
    if (at >= count) std::swap(trunk.from, trunk.to);
    return trunk;
}

/// Most NIC-rate flows from the first half of the nodes to as many of the rest.
double FatTreeFabric::bisection_bytes_per_second() const {
    const FatTree& f = tree_;
    if (f.tiers == 0) return 0;
    const std::uint32_t half = f.nodes / 2;
    std::vector<Halves> groups(f.groups);
    for (std::uint32_t leaf = 0; leaf < f.leaves(); ++leaf) {
        const std::uint32_t first = leaf % f.rows * f.nodes_per_leaf,
                            last = std::min(f.nodes, first + f.nodes_per_leaf);
        const auto count = [&](std::uint32_t begin, std::uint32_t end) {
            const std::uint32_t lo = std::max(first, begin), hi = std::min(last, end);
            return hi > lo ? static_cast<double>((hi - lo) * f.nics_per_leaf_and_node()) : 0.0;
        };
        Halves part{count(0, half), count(half, f.nodes), 0};
        part.close(f.leaf_up);
        groups[f.group_of(leaf)] += part;
    }
    Halves whole;
    for (Halves& group : groups) {
        group.close(static_cast<double>(f.spines_per_group) * f.spine_up);
        whole += group;
    }
    whole.close(0);
    return whole.met * parts().nic_bytes_per_second;
}

/// From the number of nodes on each leaf.
std::vector<std::uint64_t> FatTreeFabric::node_pairs_by_hops() const {
    const FatTree& f = tree_;
    std::vector<std::uint64_t> counts(f.tiers == 0 ? 1 : 2 * f.tiers, 0);
    if (f.tiers == 0) return counts;
    std::vector<std::uint64_t> in_group(f.groups, 0);
    std::uint64_t same_leaf = 0, same_group = 0;
    for (std::uint32_t row = 0; row < f.rows; ++row) {
        const std::uint64_t n = std::min(f.nodes - row * f.nodes_per_leaf, f.nodes_per_leaf);
        same_leaf += n * (n - 1);
        in_group[f.group_of(row)] += n;
    }
    for (std::uint64_t n : in_group) same_group += n * (n == 0 ? 0 : n - 1);
    counts[1] = same_leaf;
    if (f.tiers > 1) counts[3] = same_group - same_leaf;
    if (f.tiers > 2) counts[5] = std::uint64_t{f.nodes} * (f.nodes - 1) - same_group;
    return counts;
}

}  // namespace orrery::topology
