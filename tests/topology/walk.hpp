// Checks on routes against the graph itself, which knows nothing of how routes are computed.
#pragma once

#include <vector>

#include "topology/graph.hpp"

namespace orrery::topology {

/// Ends of every link, by number, as the graph has them.
class Walker {
public:
    explicit Walker(const Cluster& cluster);

    /// Vertex of a GPU.
    [[nodiscard]] std::uint32_t vertex(GpuId gpu) const;
    /// Asserts that the links follow one another from one GPU to the other without meeting a vertex twice.
    void expect_connected(GpuId from, GpuId to) const;
    /// Fewest links from the NIC of one GPU to that of another over the fabric (breadth first).
    [[nodiscard]] std::uint32_t fewest_fabric_links(GpuId from, GpuId to) const;
    /// Links of route(from, to) outside of nodes.
    [[nodiscard]] std::uint32_t fabric_links(GpuId from, GpuId to) const;

private:
    const Cluster& cluster_;
    BoostGraph graph_;
    std::vector<std::pair<std::uint32_t, std::uint32_t>> ends_;
};

/// Most flows over one link, per cable, above the nodes, when GPU g sends to destination[g] (itself: nothing).
double most_flows_per_cable(const Cluster& cluster, const std::vector<GpuId>& destination);

}  // namespace orrery::topology
