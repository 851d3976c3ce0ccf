#include "topology/max_flow.hpp"

#include <algorithm>
#include <limits>
#include <queue>

namespace orrery::topology {

void MaxFlow::join(std::uint32_t a, std::uint32_t b, std::int64_t there, std::int64_t back) {
    arcs_of_[a].push_back(static_cast<std::uint32_t>(arcs_.size()));
    arcs_.push_back({b, there});
    arcs_of_[b].push_back(static_cast<std::uint32_t>(arcs_.size()));
    arcs_.push_back({a, back});
}

std::int64_t MaxFlow::run(std::uint32_t source, std::uint32_t sink) {
    std::int64_t total = 0;
    while (find_levels(source, sink)) {
        std::fill(next_.begin(), next_.end(), 0);
        while (const std::int64_t more = push(source, sink, std::numeric_limits<std::int64_t>::max())) total += more;
    }
    return total;
}

bool MaxFlow::find_levels(std::uint32_t source, std::uint32_t sink) {
    std::fill(level_.begin(), level_.end(), -1);
    std::queue<std::uint32_t> open;
    open.push(source);
    level_[source] = 0;
    while (!open.empty()) {
        const std::uint32_t at = open.front();
        open.pop();
        for (const std::uint32_t id : arcs_of_[at]) {
            const Arc& arc = arcs_[id];
            if (arc.left == 0 || level_[arc.to] >= 0) continue;
            level_[arc.to] = level_[at] + 1;
            open.push(arc.to);
        }
    }
    return level_[sink] >= 0;
}

/// Along arcs to the next level; an arc that leads nowhere is not tried again in this phase.
std::int64_t MaxFlow::push(std::uint32_t at, std::uint32_t sink, std::int64_t most) {
    if (at == sink) return most;
    for (std::size_t& i = next_[at]; i < arcs_of_[at].size(); ++i) {
        const std::uint32_t id = arcs_of_[at][i], to = arcs_[id].to;
        if (arcs_[id].left == 0 || level_[to] != level_[at] + 1) continue;
        const std::int64_t moved = push(to, sink, std::min(most, arcs_[id].left));
        if (moved == 0) continue;
        arcs_[id].left -= moved;
        arcs_[id ^ 1U].left += moved;
        return moved;
    }
    return 0;
}

}  // namespace orrery::topology
