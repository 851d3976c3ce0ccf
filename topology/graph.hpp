// The whole cluster as a Boost graph, with what routing needs beside it. Only topology/ and its tests include this.
#pragma once

#include <boost/graph/adjacency_list.hpp>
#include <cstdint>
#include <utility>
#include <vector>

#include "topology/datasheets.hpp"
#include "topology/fat_tree.hpp"
#include "topology/node.hpp"

namespace orrery::topology {

struct Vertex {
    VertexKind kind = VertexKind::gpu;
    std::uint32_t node = 0;   ///< 0 for switches of the fabric
    std::uint32_t index = 0;  ///< number within its kind, inside its node or fabric
};
struct Edge {
    LinkId id = 0;
    Link link;
};
using BoostGraph = boost::adjacency_list<boost::vecS, boost::vecS, boost::directedS, Vertex, Edge>;

/// Vertices: node after node as in NodePlan, then leaves, spines, cores. Links: node after node, then the fabric's.
struct Graph {
    Graph(std::size_t vertices, NodePlan plan, const FatTree& tree)
        : boost(vertices), node(std::move(plan)), fabric(tree) {}
    Graph(const Graph&) = delete;
    Graph& operator=(const Graph&) = delete;

    BoostGraph boost;
    std::vector<Link> links;
    NodePlan node;
    FatTree fabric;
    double nic_bytes_per_second = 0;  ///< 0 for a single node
    double nic_send_receive_seconds = 0;
    std::uint32_t first_fabric_link = 0;
};

}  // namespace orrery::topology
