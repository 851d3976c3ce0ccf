#include "topology/link_ends.hpp"

namespace orrery::topology {

VertexKind fabric_vertex(const Fabric& fabric, std::uint32_t vertex) {
    const bool on_chip = fabric.parts().on_chip;
    if (!on_chip && vertex < fabric.ports()) return VertexKind::nic;
    std::uint32_t router = on_chip ? vertex : vertex - fabric.ports();
    for (const Layer& layer : fabric.layers()) {
        if (router < layer.count) return layer.kind;
        router -= layer.count;
    }
    return VertexKind::router;
}

LinkEnds link_ends(const Cluster& cluster, LinkId link) {
    (void)cluster.link(link);  // throws for one that is not there
    if (link >= cluster.first_fabric_link()) {
        const Fabric::Ends ends = cluster.fabric().ends(link - cluster.first_fabric_link());
        return {fabric_vertex(cluster.fabric(), ends.from), fabric_vertex(cluster.fabric(), ends.to)};
    }
    const Cluster::Inside found = cluster.inside(link);
    return {found.plan.vertices()[found.at.from], found.plan.vertices()[found.at.to]};
}

}  // namespace orrery::topology
