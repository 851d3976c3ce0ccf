#include "sim/link_levels.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "topology/link_ends.hpp"

namespace orrery::sim {

std::vector<LinkLevel> link_levels(const topology::Cluster& cluster, const RanStep& ran) {
    const Folding& folding = *ran.folding;
    std::map<std::pair<topology::LinkEnds, double>, LinkLevel> levels;
    for (std::size_t i = 0; i < folding.capacities.size(); ++i) {
        const topology::LinkEnds ends = topology::link_ends(cluster, folding.link_example[i]);
        const double capacity = folding.capacities[i], bytes = ran.link_bytes[i];
        LinkLevel& level = levels[{ends, capacity}];
        level.from = name(ends.from);
        level.to = name(ends.to);
        level.bytes_per_second = capacity;
        level.links += folding.link_members[i];
        level.bytes += bytes * folding.link_members[i];
        level.most_bytes = std::max(level.most_bytes, bytes);
    }
    std::vector<LinkLevel> list;
    for (auto& [key, level] : levels) {
        level.busiest = level.most_bytes / (level.bytes_per_second * ran.replayed.end);
        list.push_back(std::move(level));
    }
    return list;
}

std::vector<std::vector<Span>> block_spans(const RanStep& ran) {
    constexpr double host_ahead = -1.0;  // seconds: more than any block's dispatches take
    std::vector<std::vector<Span>> blocks(ran.program.blocks.size());
    for (std::uint32_t role = 0; role < ran.program.programs.size(); ++role) {
        const std::vector<strategies::Op>& ops = ran.program.programs[role].ops;
        for (std::uint32_t i = 0; i < ops.size(); ++i) {
            const auto* call = std::get_if<strategies::Call>(&ops[i].what);
            if (call == nullptr || !blocks[call->block].empty()) continue;
            const Costs& costs = ran.costs[0];
            costs.run(call->block, costs.call(role, i, call->block).ops, 0, host_ahead, blocks[call->block]);
        }
    }
    return blocks;
}

}  // namespace orrery::sim
