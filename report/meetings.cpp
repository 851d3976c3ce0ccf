#include "report/meetings.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <deque>
#include <limits>
#include <map>
#include <optional>
#include <tuple>

#include "base/error.hpp"
#include "strategies/hazards.hpp"
#include "strategies/messages.hpp"

namespace orrery::report {

namespace {

using strategies::Collective;
using strategies::Lane;
using strategies::StepProgram;

/// The group by its first rank, its axes and the lane.
using Round = std::tuple<std::uint32_t, strategies::AxisSet::Bits, Lane>;
/// Sender, receiver, and the sender's step along the axis.
using Wire = std::tuple<std::uint32_t, std::uint32_t, std::int32_t, bool>;

struct Gathering {
    const StepProgram& step;
    std::vector<Meeting> all{};
    std::map<Round, std::vector<std::size_t>> rounds{};  ///< number of each meeting of a group, in order
    std::map<Wire, std::vector<Meeting>> sends{}, receives{};

    void add_rank(std::uint32_t rank) {
        const auto& ops = step.programs[step.role[rank]].ops;
        std::map<Round, std::size_t> next;
        for (std::size_t i = 0; i < ops.size(); ++i) {
            const auto& what = ops[i].what;
            if (const auto* collective = std::get_if<Collective>(&what)) {
                const Round round{step.mesh.group(rank, collective->group).front(), collective->group.bits(),
                                  ops[i].lane};
                join(round, next[round]++, {rank, i});
            } else if (const auto* send = std::get_if<strategies::Send>(&what)) {
                const std::uint32_t to = step.mesh.peer(rank, send->axis, send->delta);
                sends[{rank, to, send->delta, strategies::carries_gradients(ops[i].lane)}].push_back({{rank, i}});
            } else if (const auto* recv = std::get_if<strategies::Recv>(&what)) {
                const std::uint32_t from = step.mesh.peer(rank, recv->axis, recv->delta);
                receives[{from, rank, -recv->delta, strategies::carries_gradients(ops[i].lane)}].push_back({{rank, i}});
            }
        }
    }

    void join(const Round& round, std::size_t k, std::pair<std::uint32_t, std::size_t> party) {
        auto& numbers = rounds[round];
        if (k == numbers.size()) {
            numbers.push_back(all.size());
            all.emplace_back();
        }
        all[numbers[k]].push_back(party);
    }

    void match_messages() {
        for (const auto& [wire, list] : sends) {
            const auto& others = receives[wire];
            if (others.size() != list.size())
                throw Error("sends and receives of the program do not match", "orrery explain shows the program");
            for (std::size_t k = 0; k < list.size(); ++k) all.push_back({list[k].front(), others[k].front()});
        }
    }
};

constexpr double unknown = std::numeric_limits<double>::quiet_NaN();

/// NaN when either is unknown.
double later(double a, double b) { return std::isnan(a) || std::isnan(b) ? unknown : std::max(a, b); }

class Earliest {
public:
    Earliest(const StepProgram& step, const Seconds& durations)
        : step_(step), durations_(durations), meetings_(meetings(step)) {
        for (const auto& program : step.programs) hazards_.emplace_back(program);
        for (std::uint32_t rank = 0; rank < step.role.size(); ++rank) {
            const std::size_t ops = durations[rank].size();
            spans_.emplace_back(ops, sim::Span{unknown, unknown});
            ready_.emplace_back(ops, unknown);
            meeting_of_.emplace_back(ops);
        }
        for (const Meeting& meeting : meetings_)
            for (const auto& [rank, op] : meeting) meeting_of_[rank][op] = &meeting;
    }

    std::vector<std::vector<sim::Span>> run() && {
        for (bool moved = true; moved;) {
            moved = false;
            for (std::uint32_t rank = 0; rank < spans_.size(); ++rank) moved |= sweep(rank);
        }
        return std::move(spans_);
    }

private:
    bool sweep(std::uint32_t rank) {
        bool moved = false;
        double host = 0;
        std::array<double, strategies::lanes> free{};
        const auto& ops = step_.programs[step_.role[rank]].ops;
        for (std::uint32_t i = 0; i < ops.size(); ++i) {
            double ready = host;
            for (const std::uint32_t other : hazards_[step_.role[rank]].of(i))
                ready = later(ready, spans_[rank][other].end);
            const bool waits = std::holds_alternative<strategies::HostSync>(ops[i].what);
            double& lane = free[static_cast<std::size_t>(ops[i].lane)];
            if (!waits) ready = later(ready, lane);
            if (std::isnan(spans_[rank][i].end) && !std::isnan(ready)) moved |= place(rank, i, ready);
            (waits ? host : lane) = spans_[rank][i].end;
        }
        return moved;
    }

    bool place(std::uint32_t rank, std::uint32_t op, double ready) {
        const Meeting* const meeting = meeting_of_[rank][op];
        if (meeting == nullptr) {
            const auto& what = step_.programs[step_.role[rank]].ops[op].what;
            const bool waits = std::holds_alternative<strategies::HostSync>(what);
            spans_[rank][op] = {ready, ready + (waits ? 0 : durations_[rank][op])};
            return true;
        }
        if (!std::isnan(ready_[rank][op])) return false;
        ready_[rank][op] = ready;
        double begin = 0, seconds = std::numeric_limits<double>::infinity();
        for (const auto& [who, what] : *meeting) {
            begin = later(begin, ready_[who][what]);
            seconds = std::min(seconds, durations_[who][what]);
        }
        if (!std::isnan(begin))
            for (const auto& [who, what] : *meeting) spans_[who][what] = {begin, begin + seconds};
        return true;
    }

    const StepProgram& step_;
    const Seconds& durations_;
    std::vector<Meeting> meetings_;
    std::vector<strategies::Hazards> hazards_;
    std::vector<std::vector<sim::Span>> spans_;
    std::vector<std::vector<double>> ready_;
    std::vector<std::vector<const Meeting*>> meeting_of_;
};

}  // namespace

std::vector<Meeting> meetings(const StepProgram& step) {
    Gathering gathering{step};
    for (std::uint32_t rank = 0; rank < step.role.size(); ++rank) gathering.add_rank(rank);
    gathering.match_messages();
    return std::move(gathering.all);
}

void begin_together(const std::vector<Meeting>& all, Seconds& begins) {
    for (const Meeting& meeting : all) {
        double last = 0;
        for (const auto& [rank, op] : meeting) last = std::max(last, begins[rank][op]);
        for (const auto& [rank, op] : meeting) begins[rank][op] = last;
    }
}

std::vector<std::vector<sim::Span>> earliest(const StepProgram& step, const Seconds& durations) {
    return Earliest(step, durations).run();
}

}  // namespace orrery::report
