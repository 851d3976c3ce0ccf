// Counts and capacities of a cluster's fabric.
#include <algorithm>
#include <vector>

#include "topology/cluster.hpp"

namespace orrery::topology {

namespace {

/// Cables and the most used ports of a router, tier by tier: every cable is two directed links, and counting at the
/// source counts each port once.
void count_cables(const Fabric& fabric, Properties& p) {
    const std::uint32_t first = fabric.parts().on_chip ? 0 : fabric.ports();
    std::vector<std::uint32_t> ports(fabric.routers(), 0);
    for (std::uint32_t id = 0; id < fabric.links(); ++id) {
        const Link link = fabric.link(id);
        const Fabric::Ends ends = fabric.ends(id);
        if (ends.from >= first) ports[ends.from - first] += link.cables;
        if (p.cables_by_tier.size() < link.tier) p.cables_by_tier.resize(link.tier, 0);
        if (ends.from < ends.to) p.cables_by_tier[link.tier - 1] += link.cables;
    }
    auto router = ports.begin();
    for (const Layer& layer : fabric.layers()) {
        p.switches_by_tier.push_back(layer.count);
        p.max_ports_by_tier.push_back(layer.count == 0 ? 0 : *std::max_element(router, router + layer.count));
        router += layer.count;
    }
}

}  // namespace

Properties properties(const Cluster& cluster) {
    const Fabric& fabric = cluster.fabric();
    Properties p;
    p.nodes = cluster.nodes();
    p.gpus = cluster.gpus();
    p.node_pairs_by_switches = fabric.node_pairs_by_hops();
    if (!fabric.connected()) return p;
    count_cables(fabric, p);
    p.bisection_bytes_per_second = fabric.bisection_bytes_per_second();
    return p;
}

}  // namespace orrery::topology
