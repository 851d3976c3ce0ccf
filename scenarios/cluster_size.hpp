// How many nodes make so many GPUs.
#pragma once

#include <cstdint>

#include "topology/catalog.hpp"

namespace orrery::scenarios {

/// GPUs of a cluster in whole nodes: those of its more_nodes, and for the rest the preset's own.
struct ClusterSize {
    std::uint32_t gpus_per_node = 1;
    std::uint32_t more_nodes = 0;

    /// "cluster.nodes" of a cluster of so many GPUs; of the next whole node where they do not fill one. Throws Error
    /// without a place where more_nodes have them all.
    [[nodiscard]] std::uint32_t nodes_for(std::uint32_t gpus) const;
};

/// Throws Error as topology::build() does.
ClusterSize size_of(const topology::ClusterSpec& spec);

}  // namespace orrery::scenarios
