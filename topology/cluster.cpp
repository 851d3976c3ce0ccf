#include "topology/cluster.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <utility>

#include "base/error.hpp"

namespace orrery::topology {

namespace {
constexpr std::uint32_t most_sprayed_paths = 1024;
}

Cluster::Cluster(std::string name, std::vector<NodeGroup> groups, std::shared_ptr<const Fabric> fabric,
                 const Routing& routing)
    : name_(std::move(name)), groups_(std::move(groups)), fabric_(std::move(fabric)), routing_(routing) {
    if (groups_.empty() || !fabric_) throw Error(fmt::format("cluster \"{}\" has no nodes or no fabric", name_));
    gpus_per_node_ = groups_.front().plan->gpus();
    std::uint64_t count = 0, node_links = 0;
    for (const NodeGroup& group : groups_) {
        count += group.nodes;
        node_links += std::uint64_t{group.nodes} * group.plan->links().size();
        if (group.plan->gpus() != gpus_per_node_ || group.plan->nics() != nics_per_node()) {
            throw Error("", "/cluster/gpus_per_node",
                        fmt::format("nodes with {} {} ({} NICs) beside nodes with {} {} ({} NICs)", group.plan->gpus(),
                                    group.gpu.name, group.plan->nics(), gpus_per_node_, gpu().name, nics_per_node()),
                        "give all nodes the same gpus_per_node and nics_per_node");
        }
    }
    if (count != fabric_->nodes() || nics_per_node() != fabric_->parts().nics_per_node) {
        throw Error(fmt::format("cluster \"{}\": {} nodes on a fabric for {}", name_, count, fabric_->nodes()));
    }
    if (node_links + fabric_->links() > std::numeric_limits<LinkId>::max()) {
        throw Error("", "/cluster/nodes", fmt::format("{} nodes have too many links to number", count),
                    "ask for fewer nodes");
    }
    first_fabric_link_ = static_cast<LinkId>(node_links);
    if (routing_.policy == RoutingPolicy::adaptive) adaptive_ = std::make_shared<AdaptivePaths>(fabric_);
    sprays_alike_ = routing_.policy == RoutingPolicy::spray && fabric_->sprays_alike();
}

Cluster::Place Cluster::place(std::uint32_t node) const {
    std::uint32_t group = 0, first = 0;
    LinkId links = 0;
    while (group + 1 < groups_.size() && node >= first + groups_[group].nodes) {
        first += groups_[group].nodes;
        links += groups_[group].nodes * static_cast<LinkId>(groups_[group].plan->links().size());
        ++group;
    }
    return {group, links + (node - first) * static_cast<LinkId>(groups_[group].plan->links().size())};
}

bool Cluster::regular() const { return sprays_alike_ || (routing_.policy == RoutingPolicy::minimal && !failures_); }

bool Cluster::rails_alike() const {
    const auto alike = [](const NodeGroup& group) { return group.plan->paths_alike(); };
    return regular() && nics_per_node() == gpus_per_node_ && fabric_->rails_alike() &&
           std::all_of(groups_.begin(), groups_.end(), alike);
}

double Cluster::nic_bytes_per_second() const {
    return fabric_->connected() ? fabric_->parts().nic_bytes_per_second : 0;
}
double Cluster::intra_node_bytes_per_second() const { return groups_.front().plan->gpu_bytes_per_second(); }

Link Cluster::link(LinkId id) const {
    if (id >= links()) throw Error(fmt::format("link {} of cluster \"{}\", which has {}", id, name_, links()));
    if (id >= first_fabric_link_) return fabric_->link(id - first_fabric_link_);
    return inside(id).at.link;
}

Cluster::Inside Cluster::inside(LinkId id) const {
    std::uint32_t before = 0;
    for (const NodeGroup& group : groups_) {
        const auto per_node = static_cast<LinkId>(group.plan->links().size()), all = group.nodes * per_node;
        if (id < all) return {before + id / per_node, *group.plan, group.plan->links()[id % per_node]};
        id -= all;
        before += group.nodes;
    }
    throw std::logic_error("a link of the fabric is inside no node");
}

std::vector<LinkId> Cluster::route(GpuId from, GpuId to) const {
    std::vector<LinkId> links;
    links.reserve(16);
    route(from, to, links);
    return links;
}

Cluster Cluster::with_failures(const std::vector<std::string>& failed) const {
    auto failures = std::make_shared<Failures>(fabric_, failed);
    for (const Port& port : failures->cut_off()) {
        std::uint32_t local = 0;
        while (plan_of(port.node).nic_of(local) != port.nic) ++local;
        throw Error("", "/cluster/failed",
                    fmt::format("GPU {} (node {}, GPU {}) is cut off: its NIC {} reaches no other node",
                                port.node * gpus_per_node_ + local, port.node, local, port.nic),
                    "leave some failures out, or use fewer nodes");
    }
    Cluster cluster = unused();
    cluster.failures_ = std::move(failures);
    cluster.sprays_alike_ = false;
    return cluster;
}

Cluster Cluster::with_every_link() const {
    Cluster cluster = *this;
    cluster.sprays_alike_ = false;
    return cluster;
}

Cluster Cluster::unused() const {
    Cluster cluster = *this;
    if (adaptive_) cluster.adaptive_ = std::make_shared<AdaptivePaths>(fabric_);
    return cluster;
}

void Cluster::route(GpuId from, GpuId to, std::vector<LinkId>& out) const {
    if (from >= gpus() || to >= gpus()) {
        throw Error(
            fmt::format("route from GPU {} to {} in cluster \"{}\", which has {} GPUs", from, to, name_, gpus()));
    }
    out.clear();
    const std::uint32_t node = node_of(from);
    if (node != node_of(to)) {
        const Ways way = ways(from, to);
        return route_between_nodes(way, from % gpus_per_node_, usual_path(way.leave, way.enter), out);
    }
    const Place at = place(node);
    const auto& path = groups_[at.group].plan->gpu_to_gpu(from % gpus_per_node_, to % gpus_per_node_);
    for (const std::uint32_t link : path) out.push_back(at.first_link + link);
}

Cluster::Ways Cluster::ways(GpuId from, GpuId to) const {
    const std::uint32_t a = node_of(from), b = node_of(to), i = from % gpus_per_node_, j = to % gpus_per_node_;
    Ways way{.leave = {a, 0},
             .enter = {b, 0},
             .from = i,
             .to = j,
             .source = place(a),
             .sink = place(b),
             .change_rail = false};
    const NodePlan& plan = *groups_[way.source.group].plan;
    way.leave.nic = plan.nic_of(i);
    way.enter.nic = groups_[way.sink.group].plan->nic_of(j);
    way.change_rail = way.leave.nic != way.enter.nic &&
                      (routing_.policy == RoutingPolicy::rails || !fabric_->joins(way.leave, way.enter));
    if (way.change_rail) {
        way.from = j;
        way.leave.nic = plan.nic_of(j);
    }
    return way;
}

std::uint32_t Cluster::usual_path(Port from, Port to) const {
    if (adaptive_) return adaptive_->path(from, to, failures_.get());
    if (routing_.policy != RoutingPolicy::ecmp) return fabric_->usual_path(from, to);
    return hashed_path(*fabric_, from, to, fabric_->paths(from, to), routing_.seed);
}

void Cluster::route_between_nodes(const Ways& way, std::uint32_t local, std::uint32_t path,
                                  std::vector<LinkId>& out) const {
    const NodePlan &out_of = *groups_[way.source.group].plan, &into = *groups_[way.sink.group].plan;
    if (way.change_rail) {
        for (const std::uint32_t link : out_of.gpu_to_gpu(local, way.from)) out.push_back(way.source.first_link + link);
    }
    for (const std::uint32_t link : out_of.gpu_to_nic(way.from)) out.push_back(way.source.first_link + link);
    const std::size_t first = out.size();
    if (failures_) {
        failures_->route(way.leave, way.enter, path, out);
    } else {
        fabric_->route(way.leave, way.enter, path, out);
    }
    for (std::size_t k = first; k < out.size(); ++k) out[k] += first_fabric_link_;
    for (const std::uint32_t link : into.nic_to_gpu(way.to)) out.push_back(way.sink.first_link + link);
}

void Cluster::shares(GpuId from, GpuId to, std::vector<LinkShare>& out) const {
    out.clear();
    std::vector<LinkId> links;
    if (routing_.policy != RoutingPolicy::spray || node_of(from) == node_of(to)) {
        route(from, to, links);
        for (const LinkId link : links) out.push_back({link, 1.0});
        return;
    }
    const Ways way = ways(from, to);
    const std::uint32_t paths = fabric_->paths(way.leave, way.enter), used = std::min(paths, most_sprayed_paths);
    for (std::uint32_t i = 0; i < used; ++i) {
        const auto path = static_cast<std::uint32_t>(std::uint64_t{i} * paths / used);
        route_between_nodes(way, from % gpus_per_node_, path, links);
    }
    std::ranges::sort(links);
    for (std::size_t i = 0; i < links.size(); ++i) {
        if (i == 0 || links[i] != links[i - 1]) out.push_back({links[i], 0});
        out.back().share += 1.0 / used;
    }
}

std::uint32_t Cluster::stands_for(LinkId link) const {
    const LinkId first_trunk = first_fabric_link_ + fabric_->port_links();
    return sprays_alike_ && link >= first_trunk ? fabric_->stands_for(link - first_trunk) : 1;
}

void Cluster::loads(GpuId from, GpuId to, std::vector<LinkShare>& out) const {
    if (!sprays_alike_ || node_of(from) == node_of(to)) return shares(from, to, out);
    std::vector<LinkId> links;
    route_between_nodes(ways(from, to), from % gpus_per_node_, 0, links);
    out.clear();
    for (const LinkId link : links) out.push_back({link, 1.0 / stands_for(link)});
}

double Cluster::latency_seconds(GpuId from, GpuId to) const {
    double seconds = 0;
    for (LinkId id : route(from, to)) seconds += link(id).latency_seconds;
    return node_of(from) == node_of(to) ? seconds : seconds + fabric_->parts().adapter.send_receive_seconds;
}

}  // namespace orrery::topology
