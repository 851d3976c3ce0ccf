#include "strategies/progress.hpp"

#include <fmt/format.h>

#include <deque>
#include <map>
#include <set>
#include <tuple>

#include "strategies/hazards.hpp"
#include "strategies/messages.hpp"

namespace orrery::strategies {

namespace {

/// One rank of one role, with a cursor for the host and one for each lane.
struct Runner {
    const Program* program = nullptr;
    std::uint32_t rank = 0;
    Hazards hazards;
    std::array<std::vector<std::uint32_t>, lanes> queue;  // operations of each lane, in order
    std::array<std::size_t, lanes> next{};
    std::vector<bool> done, issued;
    std::size_t host = 0;

    Runner(const Program& p, std::uint32_t r)
        : program(&p), rank(r), hazards(p), done(p.ops.size()), issued(p.ops.size()) {
        for (std::uint32_t i = 0; i < p.ops.size(); ++i)
            if (!std::holds_alternative<HostSync>(p.ops[i].what))
                queue[static_cast<std::size_t>(p.ops[i].lane)].push_back(i);
    }

    [[nodiscard]] bool ready(std::uint32_t op) const {
        for (const std::uint32_t other : hazards.of(op))
            if (!done[other]) return false;
        return true;
    }
};

/// Messages and collectives by who waits for whom.
class Meeting {
public:
    Meeting(const StepProgram& step, std::vector<Runner>& runners, std::vector<std::string>& problems)
        : step_(step), runners_(runners), problems_(problems) {}

    void arrive(std::uint32_t role, std::uint32_t op) {
        const What& what = runners_[role].program->ops[op].what;
        if (const auto* send = std::get_if<Send>(&what))
            return transfer(role, op, send->axis, send->delta, send->bytes, true);
        if (const auto* recv = std::get_if<Recv>(&what))
            return transfer(role, op, recv->axis, -recv->delta, recv->bytes, false);
        if (const auto* collective = std::get_if<Collective>(&what)) return gather(role, op, *collective);
        runners_[role].done[op] = true;
    }

private:
    struct Post {
        std::uint32_t role, op;
        std::uint64_t bytes;
    };

    void transfer(std::uint32_t role, std::uint32_t op, Axis axis, std::int32_t delta, std::uint64_t bytes,
                  bool sends) {
        const std::uint32_t rank = runners_[role].rank;
        const std::uint32_t sender = sends ? role : step_.role[step_.mesh.peer(rank, axis, -delta)];
        const bool gradients = carries_gradients(runners_[role].program->ops[op].lane);
        auto& [posted_sends, posted_recvs] = channels_[{sender, axis, delta, gradients}];
        (sends ? posted_sends : posted_recvs).push_back({role, op, bytes});
        if (posted_sends.empty() || posted_recvs.empty()) return;
        const Post from = posted_sends.front(), to = posted_recvs.front();
        posted_sends.pop_front();
        posted_recvs.pop_front();
        if (from.bytes != to.bytes)
            problems_.push_back(fmt::format("{} op {} sends {} B, {} op {} receives {} B",
                                            runners_[from.role].program->name, from.op, from.bytes,
                                            runners_[to.role].program->name, to.op, to.bytes));
        runners_[from.role].done[from.op] = runners_[to.role].done[to.op] = true;
    }

    void gather(std::uint32_t role, std::uint32_t op, const Collective& collective) {
        const Lane lane = runners_[role].program->ops[op].lane;
        std::set<std::uint32_t> roles;
        for (const std::uint32_t rank : step_.mesh.group(runners_[role].rank, collective.group))
            roles.insert(step_.role[rank]);
        auto& waiting = groups_[{*roles.begin(), collective.group.bits(), lane}];
        waiting.push_back({role, op, collective.bytes});
        if (waiting.size() < roles.size()) return;
        for (const Post& post : waiting) {
            const auto& other = std::get<Collective>(runners_[post.role].program->ops[post.op].what);
            if (post.bytes != collective.bytes || other.kind != collective.kind)
                problems_.push_back(fmt::format("{} op {} and {} op {} meet in different collectives",
                                                runners_[role].program->name, op, runners_[post.role].program->name,
                                                post.op));
            runners_[post.role].done[post.op] = true;
        }
        waiting.clear();
    }

    const StepProgram& step_;
    std::vector<Runner>& runners_;
    std::vector<std::string>& problems_;
    using Wire = std::tuple<std::uint32_t, Axis, std::int32_t, bool>;  // sender, way, gradients or activations
    std::map<Wire, std::pair<std::deque<Post>, std::deque<Post>>> channels_;
    std::map<std::tuple<std::uint32_t, AxisSet::Bits, Lane>, std::vector<Post>> groups_;
};

/// Moves one role as far as it goes now; returns whether anything moved.
bool advance(std::uint32_t role, Runner& runner, Meeting& meeting) {
    bool moved = false;
    const auto& ops = runner.program->ops;
    for (; runner.host < ops.size(); ++runner.host, moved = true) {
        const auto here = static_cast<std::uint32_t>(runner.host);
        if (std::holds_alternative<HostSync>(ops[here].what)) {
            if (!runner.ready(here)) break;
            runner.done[here] = true;
        }
        runner.issued[here] = true;
    }
    for (std::size_t lane = 0; lane < lanes; ++lane) {
        const auto& queue = runner.queue[lane];
        for (std::size_t& next = runner.next[lane]; next < queue.size();) {
            const std::uint32_t op = queue[next];
            if (next > 0 && !runner.done[queue[next - 1]]) break;
            if (!runner.issued[op] || !runner.ready(op)) break;
            ++next;
            moved = true;
            meeting.arrive(role, op);
        }
    }
    return moved;
}

}  // namespace

std::vector<std::string> stuck_operations(const StepProgram& step) {
    std::vector<std::string> problems;
    std::vector<Runner> runners;
    for (std::uint32_t role = 0; role < step.programs.size(); ++role) {
        std::uint32_t rank = 0;
        while (rank < step.role.size() && step.role[rank] != role) ++rank;
        if (rank == step.role.size()) return {fmt::format("no rank runs {}", step.programs[role].name)};
        runners.emplace_back(step.programs[role], rank);
    }
    Meeting meeting(step, runners, problems);
    for (bool moved = true; moved;) {
        moved = false;
        for (std::uint32_t role = 0; role < runners.size(); ++role) moved |= advance(role, runners[role], meeting);
    }
    for (const Runner& runner : runners) {
        for (std::uint32_t op = 0; op < runner.done.size(); ++op) {
            if (runner.done[op]) continue;
            problems.push_back(fmt::format("deadlock: {} op {} ({}) never ends", runner.program->name, op,
                                           step.names[runner.program->ops[op].label.name]));
            break;  // the first of each role says enough
        }
    }
    return problems;
}

}  // namespace orrery::strategies
