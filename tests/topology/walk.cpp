#include "tests/topology/walk.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <boost/graph/breadth_first_search.hpp>
#include <boost/graph/filtered_graph.hpp>
#include <set>

#include "topology/graph.hpp"

namespace orrery::topology {

namespace {

struct OutsideNodes {
    const BoostGraph* graph = nullptr;
    bool operator()(const BoostGraph::edge_descriptor& edge) const { return (*graph)[edge].link.tier > 0; }
};

}  // namespace

Walker::Walker(const Cluster& cluster) : cluster_(cluster), graph_(graph_of(cluster)), ends_(cluster.links()) {
    const BoostGraph& g = graph_;
    for (const auto source : boost::make_iterator_range(boost::vertices(g))) {
        for (const auto edge : boost::make_iterator_range(boost::out_edges(source, g))) {
            ends_.at(g[edge].id) = {source, boost::target(edge, g)};
        }
    }
}

std::uint32_t Walker::vertex(GpuId gpu) const { return vertex_of(cluster_, gpu); }

void Walker::expect_connected(GpuId from, GpuId to) const {
    std::uint32_t at = vertex(from);
    std::set<std::uint32_t> met{at};
    for (const LinkId id : cluster_.route(from, to)) {
        ASSERT_EQ(ends_.at(id).first, at) << from << " to " << to << ", link " << id;
        at = ends_[id].second;
        ASSERT_TRUE(met.insert(at).second) << from << " to " << to << " meets vertex " << at << " twice";
    }
    ASSERT_EQ(at, vertex(to)) << from << " to " << to;
}

std::uint32_t Walker::fewest_fabric_links(GpuId from, GpuId to) const {
    const auto nic = [&](GpuId gpu) {
        const NodePlan& plan = cluster_.plan_of(cluster_.node_of(gpu));
        return first_vertex(cluster_, cluster_.node_of(gpu)) +
               plan.nic_vertex(plan.nic_of(gpu % cluster_.gpus_per_node()));
    };
    const boost::filtered_graph<BoostGraph, OutsideNodes> fabric(graph_, OutsideNodes{&graph_});
    std::vector<std::uint32_t> distance(boost::num_vertices(graph_), 0);
    boost::breadth_first_search(
        fabric, nic(from),
        boost::visitor(boost::make_bfs_visitor(boost::record_distances(distance.data(), boost::on_tree_edge{}))));
    return distance[nic(to)];
}

std::uint32_t Walker::fabric_links(GpuId from, GpuId to) const {
    const auto route = cluster_.route(from, to);
    return static_cast<std::uint32_t>(
        std::ranges::count_if(route, [&](LinkId id) { return cluster_.link(id).tier > 0; }));
}

double most_flows_per_cable(const Cluster& cluster, const std::vector<GpuId>& destination) {
    std::vector<std::uint32_t> flows(cluster.links(), 0);
    for (GpuId gpu = 0; gpu < destination.size(); ++gpu) {
        for (const LinkId id : cluster.route(gpu, destination[gpu])) ++flows[id];
    }
    double most = 0;
    for (LinkId id = 0; id < cluster.links(); ++id) {
        if (cluster.link(id).tier > 0) most = std::max(most, static_cast<double>(flows[id]) / cluster.link(id).cables);
    }
    return most;
}

}  // namespace orrery::topology
