// The whole cluster as a Boost graph, for drawing, searching and testing. Only topology/ and its tests include this.
#pragma once

#include <boost/graph/adjacency_list.hpp>
#include <cstdint>

#include "topology/cluster.hpp"

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

/// Vertices: node after node as in NodePlan, then the fabric's routers, layer by layer. Edges in order of their links.
BoostGraph graph_of(const Cluster& cluster);

/// Vertices of the graph: of the first device of a node, and of a GPU.
std::uint32_t first_vertex(const Cluster& cluster, std::uint32_t node);
std::uint32_t vertex_of(const Cluster& cluster, GpuId gpu);

}  // namespace orrery::topology
