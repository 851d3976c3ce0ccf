#include "strategies/progress.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <map>
#include <numeric>
#include <set>
#include <tuple>
#include <utility>

#include "strategies/hazards.hpp"
#include "strategies/messages.hpp"

namespace orrery::strategies {

namespace {

/// One rank, with a cursor for the host and one for each lane.
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

/// Messages and collectives by who waits for whom. runner_of: of each rank, the runner that stands for it.
class Meeting {
public:
    Meeting(const StepProgram& step, std::vector<Runner>& runners, std::vector<std::uint32_t> runner_of,
            std::vector<std::string>& problems)
        : step_(step), runners_(runners), runner_of_(std::move(runner_of)), problems_(problems) {}

    void arrive(std::uint32_t runner, std::uint32_t op) {
        const What& what = runners_[runner].program->ops[op].what;
        if (const auto* send = std::get_if<Send>(&what))
            return transfer(runner, op, send->axis, send->delta, send->bytes, true);
        if (const auto* recv = std::get_if<Recv>(&what))
            return transfer(runner, op, recv->axis, -recv->delta, recv->bytes, false);
        if (const auto* collective = std::get_if<Collective>(&what)) return gather(runner, op, *collective);
        runners_[runner].done[op] = true;
    }

private:
    struct Post {
        std::uint32_t runner, op;
        std::uint64_t bytes;
    };

    void transfer(std::uint32_t runner, std::uint32_t op, Axis axis, std::int32_t delta, std::uint64_t bytes,
                  bool sends) {
        const std::uint32_t rank = runners_[runner].rank;
        const std::uint32_t sender = sends ? runner : runner_of_[step_.mesh.peer(rank, axis, -delta)];
        const bool gradients = carries_gradients(runners_[runner].program->ops[op].lane);
        auto& [posted_sends, posted_recvs] = channels_[{sender, axis, delta, gradients}];
        (sends ? posted_sends : posted_recvs).push_back({runner, op, bytes});
        if (posted_sends.empty() || posted_recvs.empty()) return;
        const Post from = posted_sends.front(), to = posted_recvs.front();
        posted_sends.pop_front();
        posted_recvs.pop_front();
        if (from.bytes != to.bytes)
            problems_.push_back(fmt::format("{} op {} sends {} B, {} op {} receives {} B",
                                            runners_[from.runner].program->name, from.op, from.bytes,
                                            runners_[to.runner].program->name, to.op, to.bytes));
        runners_[from.runner].done[from.op] = runners_[to.runner].done[to.op] = true;
    }

    void gather(std::uint32_t runner, std::uint32_t op, const Collective& collective) {
        const Lane lane = runners_[runner].program->ops[op].lane;
        std::set<std::uint32_t> group;
        for (const std::uint32_t rank : step_.mesh.group(runners_[runner].rank, collective.group))
            group.insert(runner_of_[rank]);
        auto& waiting = groups_[{*group.begin(), collective.group.bits(), lane}];
        waiting.push_back({runner, op, collective.bytes});
        if (waiting.size() < group.size()) return;
        for (const Post& post : waiting) {
            const auto& other = std::get<Collective>(runners_[post.runner].program->ops[post.op].what);
            if (post.bytes != collective.bytes || other.kind != collective.kind || other.by != collective.by)
                problems_.push_back(fmt::format("{} op {} and {} op {} meet in different collectives",
                                                runners_[runner].program->name, op, runners_[post.runner].program->name,
                                                post.op));
            runners_[post.runner].done[post.op] = true;
        }
        waiting.clear();
    }

    const StepProgram& step_;
    std::vector<Runner>& runners_;
    const std::vector<std::uint32_t> runner_of_;
    std::vector<std::string>& problems_;
    using Wire = std::tuple<std::uint32_t, Axis, std::int32_t, bool>;  // sender, way, gradients or activations
    std::map<Wire, std::pair<std::deque<Post>, std::deque<Post>>> channels_;
    std::map<std::tuple<std::uint32_t, AxisSet::Bits, Lane>, std::vector<Post>> groups_;
};

/// Moves one runner as far as it goes now; returns whether anything moved.
bool advance(std::uint32_t number, Runner& runner, Meeting& meeting) {
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
            meeting.arrive(number, op);
        }
    }
    return moved;
}

/// One rank of each role stands for all that run it, where groups are of the same roles for all of them. Where a stage
/// has several programs they are not: each rank stands for itself.
bool each_rank(const StepProgram& step) { return step.programs_of_stage() > 1; }

std::vector<std::uint32_t> runners_of_ranks(const StepProgram& step) {
    std::vector<std::uint32_t> list(step.role.begin(), step.role.end());
    if (each_rank(step)) std::iota(list.begin(), list.end(), 0U);
    return list;
}

}  // namespace

std::vector<std::string> stuck_operations(const StepProgram& step) {
    std::vector<std::string> problems;
    std::vector<Runner> runners;
    for (std::uint32_t role = 0; role < step.programs.size(); ++role)
        if (std::ranges::find(step.role, role) == step.role.end())
            return {fmt::format("no rank runs {}", step.programs[role].name)};
    const std::vector<std::uint32_t> runner_of = runners_of_ranks(step);
    const auto count = static_cast<std::uint32_t>(each_rank(step) ? step.role.size() : step.programs.size());
    for (std::uint32_t number = 0; number < count; ++number) {
        const auto rank = static_cast<std::uint32_t>(std::ranges::find(runner_of, number) - runner_of.begin());
        runners.emplace_back(step.programs[step.role[rank]], rank);
    }
    Meeting meeting(step, runners, runner_of, problems);
    for (bool moved = true; moved;) {
        moved = false;
        for (std::uint32_t number = 0; number < count; ++number) moved |= advance(number, runners[number], meeting);
    }
    for (const Runner& runner : runners) {
        for (std::uint32_t op = 0; op < runner.done.size(); ++op) {
            if (runner.done[op]) continue;
            problems.push_back(fmt::format("deadlock: {} op {} ({}) never ends", runner.program->name, op,
                                           step.names[runner.program->ops[op].label.name]));
            break;  // the first of each says enough
        }
    }
    return problems;
}

}  // namespace orrery::strategies
