#include "sim/memory_use.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bitset>
#include <limits>
#include <map>
#include <set>

#include "base/units.hpp"

namespace orrery::sim {

namespace {

/// Bytes of the smallest GPU that each role runs on.
std::vector<std::uint64_t> capacities(const RanStep& ran, const std::vector<Population>& ranks) {
    std::vector<std::uint64_t> smallest(ran.program.programs.size(), std::numeric_limits<std::uint64_t>::max());
    for (const Population& each : ranks) {
        std::uint64_t& capacity = smallest[each.role];
        capacity = std::min(capacity, ran.network.kinds()[each.kind].gpu.memory_bytes);
    }
    return smallest;
}

/// Sets of axes, by their bits.
using Groups = std::bitset<std::size_t{1} << strategies::all_axes.size()>;

/// Adds the groups of ranks among which a program communicates. Neighbours of a pipeline share one.
void add_groups(const strategies::Mesh& mesh, const strategies::Program& program, Groups& groups) {
    const auto note = [&](const strategies::AxisSet& group) {
        if (!groups.test(group.bits()) && mesh.group_size(group) > 1) groups.set(group.bits());
    };
    for (const strategies::Op& op : program.ops) {
        if (const auto* collective = std::get_if<strategies::Collective>(&op.what)) note(collective->group);
        if (const auto* send = std::get_if<strategies::Send>(&op.what)) note({send->axis});
    }
}

/// By role: the groups that each has a communicator for, those of all blocks among them.
std::vector<std::uint32_t> groups_of(const strategies::StepProgram& step) {
    Groups of_blocks;
    for (const strategies::Program& block : step.blocks) add_groups(step.mesh, block, of_blocks);
    std::vector<std::uint32_t> numbers;
    for (const strategies::Program& program : step.programs) {
        Groups groups = of_blocks;
        add_groups(step.mesh, program, groups);
        numbers.push_back(static_cast<std::uint32_t>(groups.count()));
    }
    return numbers;
}

/// By role: on the GPU that it has least of, as capacities are.
std::vector<hardware::FrameworkMemory> framework_of(const RanStep& ran, const std::vector<Population>& ranks,
                                                    const strategies::Training& training) {
    std::vector<hardware::FrameworkMemory> framework(ran.program.programs.size());
    const std::vector<std::uint32_t> groups = groups_of(ran.program);
    for (const Population& each : ranks) {
        const auto here =
            hardware::framework_memory(training.software, ran.network.kinds()[each.kind].gpu.compute_capability,
                                       training.deterministic, groups[each.role]);
        if (here.total() > framework[each.role].total()) framework[each.role] = here;
    }
    return framework;
}

/// Of a node's memory.
struct HostUse {
    std::uint32_t node = 0;
    std::uint64_t bytes = 0;
};

/// The node whose ranks keep the most there; none: 0 bytes.
HostUse fullest_host(const MemoryUse& use, const strategies::StepProgram& step, const topology::Cluster& cluster,
                     const strategies::RankPlacement& placement) {
    std::vector<std::uint64_t> of_role;
    const std::vector<std::uint64_t> of_blocks = strategies::block_peaks(step);
    for (std::uint32_t role = 0; role < step.programs.size(); ++role) {
        const StageMemory& known = use.memory[role / step.programs_of_stage()];
        of_role.push_back(known.role == role ? known.host : strategies::memory(step, role, of_blocks).host);
    }
    std::map<std::uint32_t, std::uint64_t> needs;
    for (std::uint32_t rank = 0; rank < step.role.size(); ++rank)
        needs[cluster.node_of(placement.gpu(rank))] += of_role[step.role[rank]];
    const auto most = std::ranges::max_element(needs, {}, [](const auto& node) { return node.second; });
    return {most->first, most->second};
}

}  // namespace

MemoryLimits memory_limits(const RanStep& ran, const strategies::Training& training,
                           const std::vector<Population>& ranks) {
    return {capacities(ran, ranks), framework_of(ran, ranks, training)};
}

MemoryUse memory_use(const strategies::StepProgram& step, const MemoryLimits& limits, strategies::OverTime over_time) {
    MemoryUse use;
    const std::vector<std::uint64_t> of_blocks = strategies::block_peaks(step);
    use.memory_capacity = *std::ranges::min_element(limits.capacity);
    const std::uint32_t of_stage = step.programs_of_stage();
    for (std::uint32_t role = 0; role < step.programs.size(); ++role) {
        StageMemory memory = strategies::memory(step, role, of_blocks, over_time);
        const std::size_t stage = role / of_stage;
        const auto needed = static_cast<double>(memory.peak + limits.framework[role].total());
        const double spare = static_cast<double>(limits.capacity[role]) - needed;
        if (stage < use.memory.size() && spare >= use.spare(stage)) continue;
        use.memory.resize(stage + 1);
        use.framework.resize(stage + 1);
        use.stage_capacity.resize(stage + 1);
        use.memory[stage] = std::move(memory);
        use.framework[stage] = limits.framework[role];
        use.stage_capacity[stage] = limits.capacity[role];
    }
    for (std::size_t stage = 0; stage < use.memory.size(); ++stage)
        use.fits = use.fits && use.needed(stage) <= use.capacity(stage);
    return use;
}

void add_hosts(MemoryUse& use, const strategies::StepProgram& step, const topology::Cluster& cluster,
               const strategies::RankPlacement& placement) {
    if (std::ranges::all_of(use.memory, [](const StageMemory& stage) { return stage.host == 0; })) return;
    const HostUse host = fullest_host(use, step, cluster, placement);
    use.host_memory = host.bytes;
    use.host_node = host.node;
    use.host_capacity = cluster.plan_of(host.node).host_memory().bytes;
}

std::vector<std::string> host_doubts(const RanStep& ran, const MemoryUse& use) {
    std::vector<std::string> warnings;
    if (use.host_memory == 0) return warnings;
    if (!use.hosts_fit())
        warnings.push_back(fmt::format("node {} has {} of memory, and what is offloaded to it is {}", use.host_node,
                                       format_bytes(static_cast<double>(use.host_capacity)),
                                       format_bytes(static_cast<double>(use.host_memory))));
    std::set<std::string> origins;
    for (std::uint32_t kind = 0; kind < ran.costs.size(); ++kind) {
        if (const auto& copies = ran.costs[kind].host_copies()) origins.insert(copies->origin());
        if (const auto& drives = ran.costs[kind].node_drives()) origins.insert(drives->origin());
        if (const auto& cores = ran.costs[kind].host_cores()) origins.insert(cores->origin());
    }
    for (const std::string& origin : origins)
        if (!origin.empty()) warnings.push_back(origin);
    return warnings;
}

}  // namespace orrery::sim
