// Counts and capacities of a cluster's fabric, from its FatTree.
#include <algorithm>
#include <vector>

#include "topology/graph.hpp"

namespace orrery::topology {

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

/// Most NIC-rate flows from the first half of the nodes to as many of the rest.
double bisection_cables(const FatTree& f) {
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
    return whole.met;
}

/// Ordered pairs of nodes by the switches between their first NICs, from the number of nodes on each leaf.
std::vector<std::uint64_t> pairs(const FatTree& f) {
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

}  // namespace

Properties properties(const Cluster& cluster) {
    const Graph& g = cluster.graph();
    const FatTree& f = g.fabric;
    Properties p;
    p.nodes = cluster.nodes();
    p.gpus = cluster.gpus();
    p.node_pairs_by_switches = pairs(f);
    if (f.tiers == 0) return p;
    p.switches_by_tier = {f.leaves(), f.spines(), f.cores()};
    p.switches_by_tier.resize(f.tiers);
    p.cables_by_tier.assign(f.tiers, 0);
    p.max_ports_by_tier.assign(f.tiers, 0);
    std::vector<std::uint32_t> ports(f.leaves() + f.spines() + f.cores(), 0);
    const auto first = boost::num_vertices(g.boost) - ports.size();
    for (const auto source : boost::make_iterator_range(boost::vertices(g.boost))) {
        for (const auto edge : boost::make_iterator_range(boost::out_edges(source, g.boost))) {
            const Link& link = g.boost[edge].link;
            if (link.tier == 0) continue;
            // Each cable is two directed links; counting at the source counts every port once.
            if (source >= first) ports[source - first] += link.cables;
            if (source < boost::target(edge, g.boost)) p.cables_by_tier[link.tier - 1] += link.cables;
        }
    }
    for (std::size_t i = 0; i < ports.size(); ++i) {
        const std::size_t tier = i < f.leaves() ? 0 : i < f.leaves() + f.spines() ? 1 : 2;
        p.max_ports_by_tier[tier] = std::max(p.max_ports_by_tier[tier], ports[i]);
    }
    p.bisection_bytes_per_second = bisection_cables(f) * g.nic_bytes_per_second;
    return p;
}

}  // namespace orrery::topology
