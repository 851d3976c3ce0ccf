#include "sim/period.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <span>

#include "sim/slots.hpp"

namespace orrery::sim {

namespace {

using strategies::Lane;
using strategies::Op;
using strategies::Program;
using strategies::Rounds;

/// Times that differ by less, of the clock, are one time summed in another order: some hundred units in the last place.
constexpr double same_time = 2e-14;

constexpr auto compute = static_cast<std::size_t>(Lane::compute);

bool moves_bytes(const Op& op) {
    return std::holds_alternative<strategies::Send>(op.what) || std::holds_alternative<strategies::Recv>(op.what) ||
           std::holds_alternative<strategies::Collective>(op.what);
}

/// The operations of one lane (host syncs make up one), and which of them belong to rounds.
struct LaneOps {
    std::span<const std::uint32_t> ops;
    std::size_t first = 0, end = 0;  // in rounds
    std::size_t round = 0;           // of each
};

struct Role {
    const Program* program;
    std::array<LaneOps, all_lanes> lanes;

    Role(const Program& what, const Tape& tape) : program(&what) {
        const Rounds& rounds = what.rounds;
        for (std::size_t lane = 0; lane < strategies::lanes; ++lane) lanes[lane].ops = tape.queue[lane];
        lanes[sync_lane].ops = tape.syncs;
        for (LaneOps& lane : lanes) {
            const auto position = [&](std::uint32_t op) {
                return static_cast<std::size_t>(std::ranges::lower_bound(lane.ops, op) - lane.ops.begin());
            };
            lane.first = position(rounds.first);
            lane.end = position(rounds.end());
            lane.round = (lane.end - lane.first) / rounds.written;
        }
    }
};

/// One class at two moments, a period apart.
class Comparison {
public:
    Comparison(const Role& role, const Costs& costs, const RankClass& rank, const Period& period)
        : role_(role), costs_(costs), rank_(rank), period_(period), tolerance_(same_time * period.at) {
        for (std::size_t lane = 0; lane < all_lanes; ++lane) {
            now_[lane] = ended_by(lane, period.at);
            before_[lane] = ended_by(lane, period.at - period.seconds);
        }
    }

    /// Lanes stand at the same place of their rounds, and what is under way is so for as long.
    [[nodiscard]] bool same_places() const {
        for (std::size_t lane = 0; lane < all_lanes; ++lane)
            if (!same_place(lane)) return false;
        return same_ends(compute) && same_ends(sync_lane);
    }
    /// When the first of the transfers began that are under way.
    [[nodiscard]] double oldest_transfer() const {
        double oldest = std::numeric_limits<double>::infinity();
        for (std::size_t lane = 0; lane < all_lanes; ++lane)
            if (const Span* running = under_way(lane); running != nullptr && moves_bytes(next(lane)))
                oldest = std::min(oldest, running->begin);
        return oldest;
    }
    /// All that ended since then, and since the compute lane's last end, ended a period later than it did a round ago.
    [[nodiscard]] bool same_since(double since) const {
        since = std::min(since, rank_.spans[at(compute, now_[compute] - 1)].end);
        for (std::size_t lane = 0; lane < all_lanes; ++lane)
            for (std::size_t k = now_[lane]; k-- > 0 && span(lane, k).end > since;) {
                const LaneOps& ops = role_.lanes[lane];
                if (ops.round == 0 || k < ops.first + ops.round) return false;
                const Span &late = span(lane, k), &early = span(lane, k - ops.round);
                if (!a_period_apart(early.begin, late.begin) || !a_period_apart(early.end, late.end)) return false;
            }
        return true;
    }
    /// Hosts that wait in every round are where lanes are. Others run ahead, further with every round: nothing may wait
    /// for them. One that is slower than the devices never lets them be in step.
    [[nodiscard]] bool hosts_ahead() const;

private:
    [[nodiscard]] std::uint32_t at(std::size_t lane, std::size_t k) const { return role_.lanes[lane].ops[k]; }
    [[nodiscard]] const Span& span(std::size_t lane, std::size_t k) const { return rank_.spans[at(lane, k)]; }
    [[nodiscard]] const Op& next(std::size_t lane) const { return role_.program->ops[at(lane, now_[lane])]; }
    [[nodiscard]] bool a_period_apart(double early, double late) const {
        return std::abs(late - early - period_.seconds) <= tolerance_;
    }
    /// A lane's operations end in order.
    [[nodiscard]] std::size_t ended_by(std::size_t lane, double moment) const {
        const auto& ops = role_.lanes[lane].ops;
        const auto ended = [&](std::uint32_t op) { return rank_.spans[op].end < moment; };
        return static_cast<std::size_t>(std::partition_point(ops.begin(), ops.end(), ended) - ops.begin());
    }
    [[nodiscard]] const Span* under_way(std::size_t lane) const {
        if (now_[lane] == role_.lanes[lane].ops.size()) return nullptr;
        const Span& running = span(lane, now_[lane]);
        return running.begin < period_.at ? &running : nullptr;
    }
    [[nodiscard]] bool same_place(std::size_t lane) const;
    [[nodiscard]] bool same_ends(std::size_t lane) const {
        const LaneOps& ops = role_.lanes[lane];
        if (ops.round == 0) return lane != compute;
        return before_[lane] > 0 && a_period_apart(span(lane, before_[lane] - 1).end, span(lane, now_[lane] - 1).end);
    }

    const Role& role_;
    const Costs& costs_;
    const RankClass& rank_;
    const Period& period_;
    double tolerance_;
    std::array<std::size_t, all_lanes> now_{}, before_{};  // operations that have ended
};

bool Comparison::same_place(std::size_t lane) const {
    const LaneOps& ops = role_.lanes[lane];
    const std::size_t now = now_[lane], before = before_[lane];
    const bool inside = ops.round == 0 ? now == ops.end : before >= ops.first && now < ops.end;
    if (!inside || now - before != ops.round) return false;
    // A host that runs ahead may stand before a sync that no round comes to: what follows from it is in hosts_ahead().
    if (now == ops.ops.size() || (lane == sync_lane && ops.round == 0)) return true;
    const Span &late = span(lane, now), &early = span(lane, before);
    const bool runs = late.begin < period_.at, ran = early.begin < period_.at - period_.seconds;
    if (!runs && !ran) return true;
    return ops.round > 0 && runs && ran && a_period_apart(early.begin, late.begin);
}

bool Comparison::hosts_ahead() const {
    if (role_.lanes[sync_lane].round > 0) return true;
    const Program& program = *role_.program;
    const Rounds& rounds = program.rounds;
    double host = now_[sync_lane] > 0 ? span(sync_lane, now_[sync_lane] - 1).end : 0, of_round = 0;
    const auto cost = [&](std::uint32_t op) -> const OpCost& { return costs_.of(rank_.role, op); };
    for (std::uint32_t i = rounds.first; i < rounds.first + rounds.ops; ++i) of_round += cost(i).host;
    if (std::abs(of_round - period_.seconds) <= tolerance_) return true;
    if (of_round > period_.seconds) return false;
    const bool waited = now_[sync_lane] > 0;
    double free = 0;  // when the compute lane was
    for (std::uint32_t i = waited ? at(sync_lane, now_[sync_lane] - 1) + 1 : 0; i < program.ops.size(); ++i) {
        const Span& span = rank_.spans[i];
        const std::size_t lane = lane_of(program.ops[i]);
        // What has no time comes behind what keeps the compute lane.
        const bool timed = !std::isnan(span.end);
        const double begin = timed ? lane == sync_lane ? span.end : span.begin : free;
        const double end = timed ? span.end : free + cost(i).device;
        const double soonest = lane == compute ? std::min(free, begin) : begin;
        const double issued = host + (lane == sync_lane ? 0 : cost(i).first_dispatch);
        const bool local = lane != sync_lane && !moves_bytes(program.ops[i]);
        const bool ahead =
            issued < soonest - tolerance_ && (!local || host + cost(i).host_to_end < span.end - tolerance_);
        if (!ahead && !(span.begin < period_.at - period_.seconds)) return false;
        if (lane == sync_lane) break;
        if (lane == compute) free = end;
        host += cost(i).host;
    }
    return true;
}

class Finder {
public:
    Finder(const strategies::StepProgram& step, const KindCosts& costs, const Tapes& tapes,
           const std::vector<RankClass>& classes)
        : costs_(costs), classes_(classes), roles_(step.programs.size()) {
        for (const RankClass& rank : classes)
            if (auto& role = roles_[rank.role]; !role) role.emplace(step.programs[rank.role], tapes.of(rank));
    }

    [[nodiscard]] std::optional<Period> find() const {
        // Any moment does at which nothing happens.
        for (const double earlier : {0.015625, 0.140625, 0.390625}) {
            const std::optional<Period> period = last(earlier);
            if (period && same(*period)) return period;
        }
        return std::nullopt;
    }

private:
    /// Shortly before some lane leaves its rounds, by a part of the period that its last operations suggest.
    [[nodiscard]] std::optional<Period> last(double earlier) const {
        Period found{0, std::numeric_limits<double>::infinity()};
        for (const RankClass& rank : classes_)
            for (const LaneOps& lane : roles_[rank.role]->lanes) {
                if (lane.round == 0) continue;
                const double end = rank.spans[lane.ops[lane.end - 1]].end;
                if (std::isnan(end)) return std::nullopt;
                if (end < found.at) found = {end - rank.spans[lane.ops[lane.end - 1 - lane.round]].end, end};
            }
        if (!std::isfinite(found.at) || !(found.seconds > 0)) return std::nullopt;
        found.at -= earlier * found.seconds;
        return found;
    }

    [[nodiscard]] bool same(const Period& period) const {
        std::vector<Comparison> comparisons;
        comparisons.reserve(classes_.size());
        double since = std::numeric_limits<double>::infinity();
        for (const RankClass& rank : classes_) {
            const Comparison& each =
                comparisons.emplace_back(*roles_[rank.role], costs_.of_rank(rank.representative), rank, period);
            if (!each.same_places()) return false;
            since = std::min(since, each.oldest_transfer());
        }
        return std::ranges::all_of(
            comparisons, [&](const Comparison& each) { return each.same_since(since) && each.hosts_ahead(); });
    }

    const KindCosts& costs_;
    const std::vector<RankClass>& classes_;
    std::vector<std::optional<Role>> roles_;
};

}  // namespace

std::optional<Period> find_period(const strategies::StepProgram& step, const KindCosts& costs, const Tapes& tapes,
                                  const std::vector<RankClass>& classes) {
    return Finder(step, costs, tapes, classes).find();
}

void repeat(const strategies::StepProgram& step, const Period& period, Replayed& replayed) {
    const double later = step.programs.front().rounds.left_out * period.seconds;
    replayed.end += later;
    for (RankClass& rank : replayed.classes) {
        rank.end += later;
        if (rank.spans.empty()) continue;
        const Program& program = step.programs[rank.role];
        std::uint32_t next = program.rounds.first;
        while (lane_of(program.ops[next]) != compute || rank.spans[next].end < period.at) ++next;
        rank.repeated = {next - program.rounds.ops, next, program.rounds.left_out, period.seconds};
    }
}

}  // namespace orrery::sim
