#include "topology/graph.hpp"

#include <array>

namespace orrery::topology {

namespace {

/// Numbers its links from `id` on, and returns the number after them.
LinkId add_node(BoostGraph& graph, const NodePlan& plan, std::uint32_t node, LinkId id) {
    const auto first = static_cast<std::uint32_t>(boost::num_vertices(graph));
    std::array<std::uint32_t, 9> seen{};
    for (const VertexKind kind : plan.vertices()) {
        boost::add_vertex({kind, node, seen[static_cast<std::size_t>(kind)]++}, graph);
    }
    for (const auto& [from, to, link] : plan.links()) {
        boost::add_edge(first + from, first + to, Edge{id++, link}, graph);
    }
    return id;
}

}  // namespace

std::uint32_t first_vertex(const Cluster& cluster, std::uint32_t node) {
    std::uint32_t vertex = 0;
    for (const NodeGroup& group : cluster.groups()) {
        const std::uint32_t here = std::min(node, group.nodes);
        vertex += here * static_cast<std::uint32_t>(group.plan->vertices().size());
        node -= here;
    }
    return vertex;
}

std::uint32_t vertex_of(const Cluster& cluster, GpuId gpu) {
    return first_vertex(cluster, cluster.node_of(gpu)) + gpu % cluster.gpus_per_node();
}

BoostGraph graph_of(const Cluster& cluster) {
    BoostGraph graph;
    LinkId next = 0;
    for (std::uint32_t node = 0; node < cluster.nodes(); ++node) {
        next = add_node(graph, cluster.plan_of(node), node, next);
    }
    const Fabric& fabric = cluster.fabric();
    const auto first_router = static_cast<std::uint32_t>(boost::num_vertices(graph));
    for (const Layer& layer : fabric.layers()) {
        // Routers on chips are the chips themselves.
        for (std::uint32_t i = 0; i < layer.count && !fabric.parts().on_chip; ++i) {
            boost::add_vertex({layer.kind, 0, i}, graph);
        }
    }
    const std::uint32_t nics = fabric.parts().nics_per_node;
    const auto vertex = [&](std::uint32_t end) {
        if (end >= fabric.ports()) return first_router + end - fabric.ports();
        return first_vertex(cluster, end / nics) + cluster.plan_of(end / nics).nic_vertex(end % nics);
    };
    for (std::uint32_t id = 0; id < fabric.links(); ++id) {
        const Fabric::Ends ends = fabric.ends(id);
        boost::add_edge(vertex(ends.from), vertex(ends.to), Edge{cluster.first_fabric_link() + id, fabric.link(id)},
                        graph);
    }
    return graph;
}

}  // namespace orrery::topology
