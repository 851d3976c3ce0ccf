// One node: its devices, the links between them and the shortest way between any two GPUs, and from GPU to NIC.
// Nodes of one kind are the same, so this is worked out once and repeated.
#pragma once

#include <cstdint>
#include <vector>

#include "topology/link.hpp"

namespace orrery::topology {

/// One directed link of a node, between vertices numbered within the node.
struct NodeLink {
    std::uint32_t from, to;
    Link link;
};

/// Main memory of a node; 0: not known.
struct HostMemory {
    std::uint64_t bytes = 0;
    double bytes_per_second = 0;
};

class NodePlan {
public:
    /// GPUs are vertices 0 .. gpus-1, NICs follow them.
    NodePlan(std::uint32_t gpus, std::uint32_t nics);
    /// A single chip with the fabric's router on it: no links of its own.
    static NodePlan chip();

    std::uint32_t add(VertexKind kind);
    /// Both directions.
    void connect(std::uint32_t a, std::uint32_t b, const Link& link);
    /// Works out the paths; call once, after the last connect.
    void finish();

    [[nodiscard]] std::uint32_t gpus() const { return gpus_; }
    [[nodiscard]] std::uint32_t nics() const { return nics_; }
    /// A chip whose router is its own port to the fabric is its own NIC.
    [[nodiscard]] std::uint32_t nic_vertex(std::uint32_t nic) const { return on_chip_ ? nic : gpus_ + nic; }
    /// The NIC a GPU sends through: GPUs are spread over the NICs in order.
    [[nodiscard]] std::uint32_t nic_of(std::uint32_t gpu) const {
        return static_cast<std::uint32_t>(std::uint64_t{gpu} * nics_ / gpus_);
    }
    [[nodiscard]] const std::vector<VertexKind>& vertices() const { return vertices_; }
    [[nodiscard]] const std::vector<NodeLink>& links() const { return links_; }
    [[nodiscard]] bool has_nvswitch() const;
    /// All links that join GPUs (without any: the PCIe link) of one GPU, one direction.
    [[nodiscard]] double gpu_bytes_per_second() const;
    /// Of the node's first GPUs, as many as there are ranks: the links of each to the others or to NVSwitches, one
    /// direction; the least of them, which bounds what rings among them carry. 0: none, or fewer than two ranks.
    [[nodiscard]] double ring_bytes_per_second(std::uint32_t ranks) const;

    using Path = std::vector<std::uint32_t>;  ///< indices into links()
    [[nodiscard]] const Path& gpu_to_gpu(std::uint32_t from, std::uint32_t to) const {
        return between_[from * gpus_ + to];
    }
    [[nodiscard]] const Path& gpu_to_nic(std::uint32_t gpu) const { return out_[gpu]; }
    [[nodiscard]] const Path& nic_to_gpu(std::uint32_t gpu) const { return in_[gpu]; }

    /// To the nearest CPU, whose memory a GPU's copies go to; empty where the node has none. The way back is the same.
    [[nodiscard]] const Path& gpu_to_host(std::uint32_t gpu) const { return to_host_[gpu]; }
    [[nodiscard]] const HostMemory& host_memory() const { return host_memory_; }
    void set_host_memory(const HostMemory& memory) { host_memory_ = memory; }

    /// Whether the ways between GPU and NIC share no link and are equal in length and rates for all GPUs.
    [[nodiscard]] bool paths_alike() const;

private:
    std::uint32_t gpus_, nics_;
    bool on_chip_ = false;
    std::vector<VertexKind> vertices_;
    std::vector<NodeLink> links_;
    std::vector<Path> between_, out_, in_, to_host_;
    HostMemory host_memory_;
};

}  // namespace orrery::topology
