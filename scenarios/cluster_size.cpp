#include "scenarios/cluster_size.hpp"

#include <fmt/format.h>

#include "base/error.hpp"
#include "topology/cluster.hpp"

namespace orrery::scenarios {

std::uint32_t ClusterSize::nodes_for(std::uint32_t gpus) const {
    const std::uint32_t nodes = (gpus - 1) / gpus_per_node + 1;
    if (nodes > more_nodes) return nodes - more_nodes;
    throw Error(fmt::format("{} GPUs leave none to the preset's own nodes: more_nodes have {}", gpus,
                            more_nodes * gpus_per_node),
                fmt::format("ask for more than {}, or change cluster.more_nodes", more_nodes * gpus_per_node));
}

ClusterSize size_of(const topology::ClusterSpec& spec) {
    const topology::Cluster cluster = topology::build(spec);
    return {cluster.gpus_per_node(), cluster.nodes() - cluster.groups().front().nodes};
}

}  // namespace orrery::scenarios
