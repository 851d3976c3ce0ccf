// A cluster of GPUs: nodes, what joins them, and the directed links of both with bandwidth, latency and kind.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "hardware/gpu.hpp"
#include "topology/adaptive.hpp"
#include "topology/fabric.hpp"
#include "topology/link.hpp"
#include "topology/node.hpp"
#include "topology/routing.hpp"

namespace orrery::topology {

using hardware::Gpu;

/// Nodes of one kind, side by side.
struct NodeGroup {
    std::uint32_t nodes = 0;
    Gpu gpu;
    std::shared_ptr<const NodePlan> plan;
};

/// A link, and the part of a message that takes it.
struct LinkShare {
    LinkId link;
    double share;
};

/// Immutable once built (but that adaptive routing remembers its choices, unused()), and small at any size: links are
/// worked out when asked for. GPU g sits in node g / gpus_per_node(), as local GPU g % gpus_per_node(). Links are
/// numbered node after node, then the fabric's.
class Cluster {
public:
    /// All nodes have as many GPUs and NICs, and the fabric is made for that many nodes. Throws Error otherwise.
    Cluster(std::string name, std::vector<NodeGroup> groups, std::shared_ptr<const Fabric> fabric,
            const Routing& routing = {});
    /// The same cluster with links and switches that have failed (Failures): routes go round them. Throws Error that
    /// names a GPU that is cut off.
    [[nodiscard]] Cluster with_failures(const std::vector<std::string>& failed) const;
    /// The same cluster where links loaded alike may differ in what else they do: loads() names each of them.
    [[nodiscard]] Cluster with_every_link() const;
    /// The same cluster before anyone has used it: adaptive routing has nothing to remember. Each simulation takes one
    /// of its own, so that none inherits the routes of another.
    [[nodiscard]] Cluster unused() const;

    [[nodiscard]] const std::string& name() const { return name_; }
    [[nodiscard]] const std::vector<NodeGroup>& groups() const { return groups_; }
    /// Of the first node.
    [[nodiscard]] const Gpu& gpu() const { return groups_.front().gpu; }
    [[nodiscard]] const Gpu& gpu_of(GpuId gpu) const { return groups_[place(node_of(gpu)).group].gpu; }
    [[nodiscard]] const NodePlan& plan_of(std::uint32_t node) const { return *groups_[place(node).group].plan; }
    [[nodiscard]] std::uint32_t gpus() const { return nodes() * gpus_per_node_; }
    [[nodiscard]] std::uint32_t gpus_per_node() const { return gpus_per_node_; }
    [[nodiscard]] std::uint32_t nodes() const { return fabric_->nodes(); }
    [[nodiscard]] std::uint32_t node_of(GpuId gpu) const { return gpu / gpus_per_node_; }
    [[nodiscard]] std::uint32_t nics_per_node() const { return groups_.front().plan->nics(); }
    /// One NIC's rate in one direction (datasheet line rate); 0 for a single node.
    [[nodiscard]] double nic_bytes_per_second() const;
    /// One GPU's NVLink (or PCIe, without NVLink) rate in one direction, in the first node; 0 for a chip by itself.
    [[nodiscard]] double intra_node_bytes_per_second() const;

    /// Whether any renumbering of a node's GPUs, the same in every node, maps the routes between nodes onto each other,
    /// link by link and rate by rate, and no two GPUs of a node share a link on them. So it is where each GPU has a NIC
    /// and a plane of the fabric of its own, or a port of the only switch, and routing is regular().
    [[nodiscard]] bool rails_alike() const;

    [[nodiscard]] std::uint32_t links() const { return first_fabric_link_ + fabric_->links(); }
    [[nodiscard]] Link link(LinkId id) const;
    /// The first link of the fabric; those before it are inside nodes.
    [[nodiscard]] LinkId first_fabric_link() const { return first_fabric_link_; }
    /// A link inside a node, of which and where in its plan.
    struct Inside {
        std::uint32_t node;
        const NodePlan& plan;
        const NodeLink& at;
    };
    /// Of a link before first_fabric_link(); throws std::logic_error for one of the fabric.
    [[nodiscard]] Inside inside(LinkId id) const;

    /// The directed links from one GPU to another, in order; empty for from == to. Minimal: inside a node over NVLink
    /// (PCIe without it); between nodes GPU, its nearest NIC, leaf, (spine, core,) leaf, NIC, GPU. Among equal paths
    /// the routing policy chooses; packet spraying answers with the usual path here (shares() has them all). Between
    /// rails of a rail-optimised fabric the path goes over the spine, of a rail-only one over NVLink to the GPU on the
    /// other rail.
    [[nodiscard]] std::vector<LinkId> route(GpuId from, GpuId to) const;
    /// The same into a buffer of the caller's, which is cleared first: no allocation once it has grown.
    void route(GpuId from, GpuId to, std::vector<LinkId>& out) const;

    /// What one message between the GPUs puts on each link: 1 on every link of its route; under packet spraying the
    /// links of all minimal routes (at most 1,024 of them) in ascending order, with their parts.
    void shares(GpuId from, GpuId to, std::vector<LinkShare>& out) const;

    /// Whether packets are sprayed, over working links, and load those of a kind alike (Fabric::sprays_alike).
    [[nodiscard]] bool sprays_alike() const { return sprays_alike_; }
    /// Whether where a message goes depends on its ends alone: all links work, and routing is minimal or sprays alike.
    [[nodiscard]] bool regular() const;
    /// How many links one stands for in loads(), each of which takes as small a part of a message.
    [[nodiscard]] std::uint32_t stands_for(LinkId link) const;
    /// shares() for the question which link is the fullest: where packets are sprayed alike, one link stands for all of
    /// its kind, the same for every message, in the order of a route.
    void loads(GpuId from, GpuId to, std::vector<LinkShare>& out) const;

    /// Sum of latencies along route(from, to), plus the fixed cost of the NICs' send and receive when it leaves the
    /// node.
    [[nodiscard]] double latency_seconds(GpuId from, GpuId to) const;

    [[nodiscard]] const Fabric& fabric() const { return *fabric_; }
    [[nodiscard]] const std::shared_ptr<const Fabric>& shared_fabric() const { return fabric_; }
    [[nodiscard]] const Routing& routing() const { return routing_; }
    /// Nothing when all links work.
    [[nodiscard]] const Failures* failures() const { return failures_.get(); }

private:
    /// Where a node stands among the groups.
    struct Place {
        std::uint32_t group;
        LinkId first_link;
    };
    [[nodiscard]] Place place(std::uint32_t node) const;
    /// The part of a route between nodes: its ports, and the links inside the nodes before and after.
    struct Ways {
        Port leave, enter;
        std::uint32_t from, to;  ///< local GPUs at the NICs
        Place source, sink;
        bool change_rail;  ///< over NVLink to the GPU `to` first
    };
    [[nodiscard]] Ways ways(GpuId from, GpuId to) const;
    [[nodiscard]] std::uint32_t usual_path(Port from, Port to) const;
    void route_between_nodes(const Ways& way, std::uint32_t local, std::uint32_t path, std::vector<LinkId>& out) const;

    std::string name_;
    std::vector<NodeGroup> groups_;
    std::shared_ptr<const Fabric> fabric_;
    Routing routing_;
    std::shared_ptr<const Failures> failures_;
    std::shared_ptr<AdaptivePaths> adaptive_;  // copies share the load
    std::uint32_t gpus_per_node_;
    LinkId first_fabric_link_ = 0;
    bool sprays_alike_ = false;
};

/// Facts of the whole fabric for `orrery topology` and the tests.
struct Properties {
    std::uint32_t nodes = 0, gpus = 0;
    std::vector<std::uint32_t> switches_by_tier;        ///< leaf, spine, core
    std::vector<std::uint32_t> cables_by_tier;          ///< NIC-leaf, leaf-spine, spine-core
    std::vector<std::uint32_t> max_ports_by_tier;       ///< most ports used on one switch of that tier
    double bisection_bytes_per_second = 0;              ///< Fabric::bisection_bytes_per_second
    std::vector<std::uint64_t> node_pairs_by_switches;  ///< Fabric::node_pairs_by_hops
};
Properties properties(const Cluster& cluster);

}  // namespace orrery::topology
