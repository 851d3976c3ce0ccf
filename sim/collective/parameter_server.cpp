#include "sim/collective/parameter_server.hpp"

#include <utility>

namespace orrery::sim {

namespace {

Schedule exchange(const Group& group, double bytes, bool push) {
    Schedule schedule{{Phase{}}, true};
    const double share = bytes / group.nodes();
    for (std::uint32_t i = 0; i < group.nodes(); ++i) {
        const auto server = group.node(i).front();
        for (const auto worker : group.gpus()) {
            if (worker == server) continue;
            const auto from = push ? worker : server, to = push ? server : worker;
            schedule.phases.front().legs.push_back({from, to, share, from});
        }
    }
    return schedule;
}

}  // namespace

Schedule push_schedule(const Group& group, double bytes) { return exchange(group, bytes, true); }
Schedule pull_schedule(const Group& group, double bytes) { return exchange(group, bytes, false); }

Outline parameter_server_outline(const Shape& shape) {
    if (shape.ranks <= 1) return {};
    const double n = shape.ranks, l = shape.local(), k = shape.nodes;
    Outline outline;
    outline.inner_steps = shape.nodes == 1 ? 2 : 0;
    outline.outer_steps = shape.nodes > 1 ? 2 : 0;
    outline.posts = (k - 1) + (n - 1);
    // All workers of a node send to the other servers; a server's node receives from all other workers.
    outline.launches = 2;
    outline.sequential = true;
    outline.node_bytes = 2 * (n - l) / k;
    outline.rank_bytes = (l - 1) / k + (l > 1 ? 1 / k : 0);
    return outline;
}

Schedule parameter_server_schedule(const Group& group, double bytes) {
    Schedule schedule = push_schedule(group, bytes);
    Schedule back = pull_schedule(group, bytes);
    schedule.phases.push_back(std::move(back.phases.front()));
    schedule.pipelined = false;
    return schedule;
}

}  // namespace orrery::sim
