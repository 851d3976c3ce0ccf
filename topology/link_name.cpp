#include "topology/link_name.hpp"

#include <fmt/format.h>

#include <map>

namespace orrery::topology {

namespace {

/// A port or router by its number among the fabric's vertices.
std::string vertex_name(const Fabric& fabric, std::uint32_t vertex) {
    const bool on_chip = fabric.parts().on_chip;
    if (!on_chip && vertex < fabric.ports())
        return fmt::format("node {} nic {}", vertex / fabric.parts().nics_per_node,
                           vertex % fabric.parts().nics_per_node);
    std::uint32_t router = on_chip ? vertex : vertex - fabric.ports();
    std::map<std::string, std::uint32_t> before;  // routers of a kind in the layers before
    for (const Layer& layer : fabric.layers()) {
        const std::string word = fabric.layer_word(layer.kind);
        if (router < layer.count) return fmt::format("{} {}", word, before[word] + router);
        before[word] += layer.count;
        router -= layer.count;
    }
    return fmt::format("router {}", router);
}

}  // namespace

std::string link_name(const Cluster& cluster, LinkId link) {
    const Link facts = cluster.link(link);
    if (link >= cluster.first_fabric_link()) {
        const Fabric::Ends ends = cluster.fabric().ends(link - cluster.first_fabric_link());
        return fmt::format("{} to {}", vertex_name(cluster.fabric(), ends.from),
                           vertex_name(cluster.fabric(), ends.to));
    }
    std::uint32_t node = 0;
    for (LinkId first = 0; node < cluster.nodes(); ++node) {
        first += static_cast<LinkId>(cluster.plan_of(node).links().size());
        if (link < first) break;
    }
    return fmt::format("node {} {}", node, name(facts.kind));
}

}  // namespace orrery::topology
