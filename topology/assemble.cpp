#include "topology/assemble.hpp"

#include <array>

#include "topology/graph.hpp"

namespace orrery::topology {

namespace {

/// Adds links in order of their numbers.
class Wirer {
public:
    explicit Wirer(Graph& graph) : graph_(graph) {}
    void link(std::uint32_t from, std::uint32_t to, const Link& link) {
        boost::add_edge(from, to, Edge{static_cast<LinkId>(graph_.links.size()), link}, graph_.boost);
        graph_.links.push_back(link);
    }

private:
    Graph& graph_;
};

void add_vertices(Graph& g) {
    const auto& kinds = g.node.vertices();
    std::uint32_t vertex = 0;
    for (std::uint32_t node = 0; node < g.fabric.nodes; ++node) {
        std::array<std::uint32_t, 8> seen{};
        for (VertexKind kind : kinds) g.boost[vertex++] = {kind, node, seen[static_cast<std::size_t>(kind)]++};
    }
    for (std::uint32_t i = 0; i < g.fabric.leaves(); ++i) g.boost[vertex++] = {VertexKind::leaf, 0, i};
    for (std::uint32_t i = 0; i < g.fabric.spines(); ++i) g.boost[vertex++] = {VertexKind::spine, 0, i};
    for (std::uint32_t i = 0; i < g.fabric.cores(); ++i) g.boost[vertex++] = {VertexKind::core, 0, i};
}

/// A link into a switch pays for its cable and the switch, one out of it for the cable only.
class FabricWirer {
public:
    FabricWirer(Graph& g, const FabricParts& parts)
        : g_(g),
          wirer_(g),
          parts_(parts),
          first_leaf_(g.fabric.nodes * static_cast<std::uint32_t>(g.node.vertices().size())) {}

    void wire() {
        for (bool up : {true, false}) nics(up);
        for (bool up : {true, false}) leaves(up);
        for (bool up : {true, false}) spines(up);
    }

private:
    void nics(bool up) {
        const FatTree& f = g_.fabric;
        const auto per_node = static_cast<std::uint32_t>(g_.node.vertices().size());
        const Link link = make(LinkKind::nic, 1, 1, nic_cable_metres, up);
        for (std::uint32_t node = 0; node < f.nodes; ++node) {
            for (std::uint32_t nic = 0; nic < f.nics_per_node; ++nic) {
                join(node * per_node + g_.node.nic_vertex(nic), first_leaf_ + f.leaf_of(node, nic), link, up);
            }
        }
    }

    void leaves(bool up) {
        const FatTree& f = g_.fabric;
        const Link link = make(LinkKind::fabric, 2, f.leaf_cables, spine_cable_metres, true);
        for (std::uint32_t leaf = 0; leaf < f.leaves(); ++leaf) {
            for (std::uint32_t s = 0; s < f.spines_per_group; ++s) {
                const std::uint32_t spine = f.group_of(leaf) * f.spines_per_group + s;
                join(first_leaf_ + leaf, first_leaf_ + f.leaves() + spine, link, up);
            }
        }
    }

    void spines(bool up) {
        const FatTree& f = g_.fabric;
        const Link link = make(LinkKind::fabric, 3, f.spine_cables, core_cable_metres, true);
        const std::uint32_t first_spine = first_leaf_ + f.leaves(), first_core = first_spine + f.spines();
        for (std::uint32_t spine = 0; spine < f.spines(); ++spine) {
            for (std::uint32_t k = 0; k < f.cores_per_group; ++k) {
                const std::uint32_t core = spine % f.spines_per_group % f.core_groups * f.cores_per_group + k;
                join(first_spine + spine, first_core + core, link, up);
            }
        }
    }

    [[nodiscard]] Link make(LinkKind kind, std::uint32_t tier, std::uint32_t cables, double metres,
                            bool into_switch) const {
        const double seconds = metres * cable_seconds_per_metre + (into_switch ? parts_.fabric_switch.seconds : 0);
        return {kind, parts_.nic_bytes_per_second * cables, seconds, cables, tier};
    }

    void join(std::uint32_t below, std::uint32_t above, const Link& link, bool up) {
        wirer_.link(up ? below : above, up ? above : below, link);
    }

    Graph& g_;
    Wirer wirer_;
    FabricParts parts_;
    std::uint32_t first_leaf_;
};

}  // namespace

std::shared_ptr<const Graph> assemble(NodePlan node, const FatTree& fabric, const FabricParts& parts) {
    const auto per_node = static_cast<std::uint32_t>(node.vertices().size());
    const auto links_per_node = static_cast<std::uint32_t>(node.links().size());
    const std::size_t vertices =
        std::size_t{fabric.nodes} * per_node + fabric.leaves() + fabric.spines() + fabric.cores();
    auto graph = std::make_shared<Graph>(vertices, std::move(node), fabric);
    Graph& g = *graph;
    g.first_fabric_link = fabric.nodes * links_per_node;
    g.links.reserve(g.first_fabric_link + fabric.links());
    add_vertices(g);
    Wirer wirer(g);
    for (std::uint32_t n = 0; n < fabric.nodes; ++n) {
        for (const auto& [from, to, link] : g.node.links()) wirer.link(n * per_node + from, n * per_node + to, link);
    }
    if (fabric.tiers > 0) {
        g.nic_bytes_per_second = parts.nic_bytes_per_second;
        g.nic_send_receive_seconds = parts.adapter.send_receive_seconds;
        FabricWirer(g, parts).wire();
    }
    return graph;
}

}  // namespace orrery::topology
