#include "topology/cluster_key.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <iterator>

namespace orrery::topology {

namespace {

/// Each behind the other, and each ended, so that what follows is none of it.
template <class... T>
std::string ended(const T&... values) {
    std::string text;
    (fmt::format_to(std::back_inserter(text), "{}\n", values), ...);
    return text;
}

}  // namespace

/// Names every field: one that is added is an error of the compiler here.
std::string cluster_key(const ClusterSpec& spec) {
    const auto& [preset, nodes, gpu, gpu_power_limit, gpus_per_node, nics_per_node, nic_rate, oversubscription, ports,
                 fabric, routing, routing_seed, failed, node_file, fabric_file, more_nodes, nccl, aws_ofi_nccl] = spec;
    const auto& [kind, shape, parents, terminals, routers, spines, global_links, groups, link_rate] = fabric;
    return ended(preset, nodes, gpu, gpu_power_limit, gpus_per_node, nics_per_node, nic_rate, oversubscription, ports,
                 kind, shape, parents, terminals, routers, spines, global_links, groups, link_rate, routing,
                 routing_seed, fmt::format("{}", fmt::join(failed, "\1")), node_file, fabric_file,
                 fmt::format("{}", fmt::join(more_nodes, "\1")), nccl, aws_ofi_nccl);
}

}  // namespace orrery::topology
