#include "topology/cluster_key.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <vector>

namespace orrery::topology {

/// Names every field: one that is added is an error of the compiler here.
std::string cluster_key(const ClusterSpec& spec) {
    const auto& [preset, nodes, gpu, gpu_power_limit, gpus_per_node, nics_per_node, nic_rate, oversubscription, ports,
                 fabric, routing, routing_seed, failed, node_file, fabric_file, more_nodes, nccl, aws_ofi_nccl] = spec;
    const auto& [kind, shape, parents, terminals, routers, spines, global_links, groups, link_rate] = fabric;
    return fmt::format("{}", fmt::join(std::vector<std::string>{preset,
                                                                std::to_string(nodes),
                                                                gpu,
                                                                fmt::format("{}", gpu_power_limit),
                                                                std::to_string(gpus_per_node),
                                                                std::to_string(nics_per_node),
                                                                fmt::format("{}", nic_rate),
                                                                fmt::format("{}", oversubscription),
                                                                std::to_string(ports),
                                                                kind,
                                                                shape,
                                                                parents,
                                                                std::to_string(terminals),
                                                                std::to_string(routers),
                                                                std::to_string(spines),
                                                                std::to_string(global_links),
                                                                std::to_string(groups),
                                                                fmt::format("{}", link_rate),
                                                                routing,
                                                                std::to_string(routing_seed),
                                                                fmt::format("{}", fmt::join(failed, "\1")),
                                                                node_file,
                                                                fabric_file,
                                                                fmt::format("{}", fmt::join(more_nodes, "\1")),
                                                                nccl,
                                                                aws_ofi_nccl},
                                       "\n"));
}

}  // namespace orrery::topology
