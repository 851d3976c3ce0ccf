// A cluster of GPUs: nodes, switches and directed links with bandwidth, latency and kind.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace orrery::topology {

struct Gpu {
    std::string name;     ///< "A100-SXM4-80GB"
    std::string profile;  ///< default profile ("a100")
    std::uint64_t memory_bytes = 0;
    double memory_bytes_per_second = 0;                                    ///< datasheet; 0: what its profile measured
    double fp32_flops = 0, tf32_flops = 0, half_flops = 0, fp8_flops = 0;  ///< dense datasheet peaks; 0: not offered
};

enum class LinkKind : std::uint8_t {
    nvlink,  ///< GPU to GPU or GPU to NVSwitch
    pcie,    ///< GPU or NIC to PCIe switch or CPU
    nic,     ///< NIC to leaf switch (or to the only switch)
    fabric,  ///< switch to switch
};
std::string_view name(LinkKind kind);

using GpuId = std::uint32_t;
using LinkId = std::uint32_t;

struct Link {
    LinkKind kind = LinkKind::nvlink;
    double bytes_per_second = 0;  ///< one direction, all parallel cables together
    double latency_seconds = 0;
    std::uint32_t cables = 1;
    std::uint32_t tier = 0;  ///< 0 inside the node, 1 NIC-leaf, 2 leaf-spine, 3 spine-core
};

struct Graph;  // Boost.Graph inside topology/ only (topology/graph.hpp)

/// Immutable once built. GPU g sits in node g / gpus_per_node(), as local GPU g % gpus_per_node().
class Cluster {
public:
    Cluster(std::string name, Gpu gpu, std::uint32_t gpus_per_node, std::shared_ptr<const Graph> graph);

    [[nodiscard]] const std::string& name() const { return name_; }
    [[nodiscard]] const Gpu& gpu() const { return gpu_; }
    [[nodiscard]] std::uint32_t gpus() const;
    [[nodiscard]] std::uint32_t gpus_per_node() const { return gpus_per_node_; }
    [[nodiscard]] std::uint32_t nodes() const { return gpus() / gpus_per_node_; }
    [[nodiscard]] std::uint32_t node_of(GpuId gpu) const { return gpu / gpus_per_node_; }
    [[nodiscard]] std::uint32_t nics_per_node() const;
    /// One NIC's rate in one direction (datasheet line rate); 0 for a single node.
    [[nodiscard]] double nic_bytes_per_second() const;
    /// One GPU's NVLink (or PCIe, without NVLink) rate in one direction.
    [[nodiscard]] double intra_node_bytes_per_second() const;

    [[nodiscard]] std::uint32_t links() const;
    [[nodiscard]] const Link& link(LinkId id) const;

    /// The directed links from one GPU to another, in order; empty for from == to. Minimal and deterministic:
    /// inside a node over NVLink (PCIe without it); between nodes GPU, its nearest NIC, leaf, (spine, core,)
    /// leaf, NIC, GPU. Among equal paths the destination chooses the switch (d-mod-k, Zahavi 2012), which keeps
    /// shift patterns free of contention. Between rails of a rail-optimised fabric the path goes over the spine.
    [[nodiscard]] std::vector<LinkId> route(GpuId from, GpuId to) const;

    /// Sum of latencies along route(from, to), plus the fixed cost of the NICs' send and receive when it leaves the
    /// node.
    [[nodiscard]] double latency_seconds(GpuId from, GpuId to) const;

    [[nodiscard]] const Graph& graph() const { return *graph_; }

private:
    std::string name_;
    Gpu gpu_;
    std::uint32_t gpus_per_node_;
    std::shared_ptr<const Graph> graph_;
};

/// Facts of the whole fabric for `orrery list clusters` and the tests.
struct Properties {
    std::uint32_t nodes = 0, gpus = 0;
    std::vector<std::uint32_t> switches_by_tier;   ///< leaf, spine, core
    std::vector<std::uint32_t> cables_by_tier;     ///< NIC-leaf, leaf-spine, spine-core
    std::vector<std::uint32_t> max_ports_by_tier;  ///< most ports used on one switch of that tier
    double bisection_bytes_per_second = 0;         ///< across the best balanced split of the nodes, one direction
    std::vector<std::uint64_t>
        node_pairs_by_switches;  ///< [k]: ordered pairs of nodes whose same-rail GPUs are k switches apart
};
Properties properties(const Cluster& cluster);

}  // namespace orrery::topology
