#include "topology/link_name.hpp"

#include <fmt/format.h>

#include <algorithm>
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

/// A vertex of a node by its number among those of its kind.
std::string vertex_name(const NodePlan& plan, std::uint32_t vertex) {
    const auto& kinds = plan.vertices();
    const auto index = std::count(kinds.begin(), kinds.begin() + vertex, kinds[vertex]);
    return fmt::format("{} {}", name(kinds[vertex]), index);
}

}  // namespace

std::string link_name(const Cluster& cluster, LinkId link) {
    (void)cluster.link(link);  // throws where there is none
    if (link >= cluster.first_fabric_link()) {
        const Fabric::Ends ends = cluster.fabric().ends(link - cluster.first_fabric_link());
        return fmt::format("{} to {}", vertex_name(cluster.fabric(), ends.from),
                           vertex_name(cluster.fabric(), ends.to));
    }
    const auto [node, plan, at] = cluster.inside(link);
    return fmt::format("node {} {} to {}", node, vertex_name(plan, at.from), vertex_name(plan, at.to));
}

}  // namespace orrery::topology
