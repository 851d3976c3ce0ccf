#include "sim/memory_use.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <set>

#include "base/units.hpp"

namespace orrery::sim {

namespace {

/// Bytes of the smallest GPU that each stage runs on.
std::vector<std::uint64_t> capacities(const RanStep& ran, const strategies::RankPlacement& placement) {
    const Kinds& kinds = ran.network.kinds();
    std::vector<std::uint64_t> smallest(ran.program.programs.size(), std::numeric_limits<std::uint64_t>::max());
    for (std::uint32_t rank = 0; rank < ran.program.role.size(); ++rank) {
        std::uint64_t& capacity = smallest[ran.program.role[rank]];
        capacity = std::min(capacity, kinds[kinds.of(placement.gpu(rank))].gpu.memory_bytes);
    }
    return smallest;
}

/// Of a node's memory.
struct HostUse {
    std::uint32_t node = 0;
    std::uint64_t bytes = 0;
};

/// The node whose ranks keep the most there; none: 0 bytes.
HostUse fullest_host(const strategies::StepProgram& step, const std::vector<StageMemory>& memory,
                     const topology::Cluster& cluster, const strategies::RankPlacement& placement) {
    if (std::ranges::all_of(memory, [](const StageMemory& stage) { return stage.host == 0; })) return {};
    std::map<std::uint32_t, std::uint64_t> needs;
    for (std::uint32_t rank = 0; rank < step.role.size(); ++rank)
        needs[cluster.node_of(placement.gpu(rank))] += memory[step.role[rank]].host;
    const auto most = std::ranges::max_element(needs, {}, [](const auto& node) { return node.second; });
    return {most->first, most->second};
}

}  // namespace

MemoryUse memory_use(const RanStep& ran, const topology::Cluster& cluster, const strategies::RankPlacement& placement) {
    MemoryUse use;
    use.stage_capacity = capacities(ran, placement);
    use.memory_capacity = *std::ranges::min_element(use.stage_capacity);
    for (std::uint32_t stage = 0; stage < use.stage_capacity.size(); ++stage) {
        use.memory.push_back(strategies::memory(ran.program, stage));
        use.fits = use.fits && use.memory.back().peak <= use.capacity(stage);
    }
    const HostUse host = fullest_host(ran.program, use.memory, cluster, placement);
    use.host_memory = host.bytes;
    use.host_node = host.node;
    if (host.bytes > 0) use.host_capacity = cluster.plan_of(host.node).host_memory().bytes;
    return use;
}

std::vector<std::string> host_doubts(const RanStep& ran, const MemoryUse& use) {
    std::vector<std::string> warnings;
    if (use.host_memory == 0) return warnings;
    if (use.host_capacity > 0 && use.host_memory > use.host_capacity)
        warnings.push_back(fmt::format("node {} has {} of memory, and what is offloaded to it is {}", use.host_node,
                                       format_bytes(static_cast<double>(use.host_capacity)),
                                       format_bytes(static_cast<double>(use.host_memory))));
    std::set<std::string> origins;
    for (std::uint32_t kind = 0; kind < ran.costs.size(); ++kind) {
        if (const auto& copies = ran.costs[kind].host_copies()) origins.insert(copies->origin());
        if (const auto& cores = ran.costs[kind].host_cores()) origins.insert(cores->origin());
    }
    for (const std::string& origin : origins)
        if (!origin.empty()) warnings.push_back(origin);
    return warnings;
}

}  // namespace orrery::sim
