#include "topology/cluster.hpp"

#include <fmt/format.h>

#include <utility>

#include "base/error.hpp"
#include "topology/graph.hpp"

namespace orrery::topology {

std::string_view name(LinkKind kind) {
    constexpr std::string_view names[] = {"nvlink", "pcie", "nic", "fabric"};
    return names[static_cast<std::size_t>(kind)];
}

Cluster::Cluster(std::string name, Gpu gpu, std::uint32_t gpus_per_node, std::shared_ptr<const Graph> graph)
    : name_(std::move(name)), gpu_(std::move(gpu)), gpus_per_node_(gpus_per_node), graph_(std::move(graph)) {
    if (!graph_ || gpus_per_node_ != graph_->node.gpus()) {
        throw Error(fmt::format("cluster \"{}\": its graph does not have {} GPUs a node", name_, gpus_per_node_));
    }
}

std::uint32_t Cluster::gpus() const { return graph_->fabric.nodes * gpus_per_node_; }
std::uint32_t Cluster::nics_per_node() const { return graph_->node.nics(); }
double Cluster::nic_bytes_per_second() const { return graph_->nic_bytes_per_second; }
double Cluster::intra_node_bytes_per_second() const { return graph_->node.gpu_bytes_per_second(); }
bool Cluster::rails_alike() const {
    const FatTree& fabric = graph_->fabric;
    const bool planes = fabric.tiers <= 1 || fabric.planes == gpus_per_node_;
    return fabric.nics_per_node == gpus_per_node_ && planes && graph_->node.paths_alike();
}

std::uint32_t Cluster::links() const { return static_cast<std::uint32_t>(graph_->links.size()); }

const Link& Cluster::link(LinkId id) const {
    if (id >= links()) throw Error(fmt::format("link {} of cluster \"{}\", which has {}", id, name_, links()));
    return graph_->links[id];
}

std::vector<LinkId> Cluster::route(GpuId from, GpuId to) const {
    if (from >= gpus() || to >= gpus()) {
        throw Error(
            fmt::format("route from GPU {} to {} in cluster \"{}\", which has {} GPUs", from, to, name_, gpus()));
    }
    const Graph& g = *graph_;
    const auto per_node = static_cast<std::uint32_t>(g.node.links().size());
    const std::uint32_t a = node_of(from), b = node_of(to), i = from % gpus_per_node_, j = to % gpus_per_node_;
    std::vector<LinkId> links;
    links.reserve(16);
    const auto inside = [&](std::uint32_t node, const NodePlan::Path& path) {
        for (std::uint32_t link : path) links.push_back(node * per_node + link);
    };
    if (a == b) {
        inside(a, g.node.gpu_to_gpu(i, j));
        return links;
    }
    inside(a, g.node.gpu_to_nic(i));
    g.fabric.route({a, g.node.nic_of(i)}, {b, g.node.nic_of(j)}, g.first_fabric_link, links);
    inside(b, g.node.nic_to_gpu(j));
    return links;
}

double Cluster::latency_seconds(GpuId from, GpuId to) const {
    double seconds = 0;
    for (LinkId id : route(from, to)) seconds += graph_->links[id].latency_seconds;
    return node_of(from) == node_of(to) ? seconds : seconds + graph_->nic_send_receive_seconds;
}

}  // namespace orrery::topology
