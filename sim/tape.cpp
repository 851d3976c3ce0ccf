#include "sim/tape.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

#include "base/overloaded.hpp"
#include "strategies/hazards.hpp"
#include "strategies/messages.hpp"

namespace orrery::sim {

namespace {

using strategies::Collective;
using strategies::HostSync;
using strategies::Recv;
using strategies::Send;
using Kind = Tape::Kind;

/// Ends of all classes that take no more are kept, every one of them.
constexpr std::size_t few_bytes = std::size_t{4} << 20U;

/// The kind of an operation, and its channel or set.
std::pair<Kind, std::uint32_t> read(const strategies::Op& op, const Traffic& traffic) {
    const bool gradients = strategies::carries_gradients(op.lane);
    using Read = std::pair<Kind, std::uint32_t>;
    return std::visit(Overloaded{[&](const Send& s) {
                                     return Read{Kind::send, traffic.number({s.axis, s.delta, gradients})};
                                 },
                                 [&](const Recv& r) {
                                     return Read{Kind::receive, traffic.number({r.axis, -r.delta, gradients})};
                                 },
                                 [&](const Collective& c) {
                                     return Read{Kind::collective, traffic.number(c.group)};
                                 },
                                 [&](const HostSync&) {
                                     return Read{Kind::sync, Tape::none};
                                 },
                                 [&](const auto&) {
                                     return Read{Kind::local, Tape::none};
                                 }},
                      op.what);
}

}  // namespace

Tape::Tape(const strategies::Program& program, std::uint32_t role, const Costs& costs, const Traffic& traffic,
           Slots::Of slots_of) {
    const strategies::Hazards hazards(program);
    const Slots kept(program, hazards, slots_of);
    slots = kept.count;
    waits.reserve(hazards.all());
    for (std::size_t lane = 0; lane < queue.size(); ++lane) queue[lane].reserve(kept.of_lane[lane]);
    const auto count = static_cast<std::uint32_t>(program.ops.size());
    ops.resize(count);
    double host = 0;
    std::uint32_t segment = 0;
    for (std::uint32_t i = 0; i < count; ++i) {
        Op& op = ops[i];
        op.what = &program.ops[i].what;
        std::tie(op.kind, op.route) = read(program.ops[i], traffic);
        op.routed = program.ops[i].label.routed;
        op.first_wait = static_cast<std::uint32_t>(waits.size());
        op.place = kept.place[i];
        op.slot = kept.slot[i];
        op.start = kept.start[i];
        for (const std::uint32_t other : hazards.of(i)) waits.push_back({kept.place[other], kept.slot[other]});
        op.waits = static_cast<std::uint32_t>(waits.size()) - op.first_wait;
        op.segment = segment;
        const OpCost& cost = costs.of(role, i);
        if (op.kind == Kind::sync) {
            op.issue = host;
            syncs.push_back(i);
            ++segment;
            host = 0;
            continue;
        }
        op.issue = host + cost.first_dispatch;
        op.device = cost.device;
        op.done = host + cost.host_to_end;
        host += cost.host;
        queue[op.lane()].push_back(i);
    }
    steady = program.rounds.ops > 0 && is_steady(program, role, costs, hazards);
}

bool Tape::is_steady(const strategies::Program& program, std::uint32_t role, const Costs& costs,
                     const strategies::Hazards& hazards) const {
    const std::uint32_t round = program.rounds.ops;
    if (!costs.steady(role)) return false;
    for (std::uint32_t i = program.rounds.end() - round; i < program.rounds.end(); ++i) {
        const auto now = hazards.of(i), before = hazards.of(i - round);
        const auto a_round_later = [&](std::uint32_t late, std::uint32_t early) { return late == early + round; };
        if (!std::ranges::equal(now, before, a_round_later) || costs.of(role, i) != costs.of(role, i - round))
            return false;
    }
    return true;
}

Tapes::Tapes(const strategies::StepProgram& step, const KindCosts& costs, const Traffic& traffic,
             const std::vector<RankClass>& classes)
    : costs_(costs), known_(step.programs.size() * costs.size(), nullptr) {
    std::size_t ends = 0;
    for (const RankClass& rank : classes) ends += step.programs[rank.role].ops.size();
    const Slots::Of slots_of = ends * sizeof(double) <= few_bytes ? Slots::Of::every_end : Slots::Of::ends_reused;
    for (const RankClass& rank : classes) {
        const Tape*& tape = known_[rank.role * costs.size() + costs.number(rank.representative)];
        if (tape == nullptr)
            tape = &tapes_.emplace_back(step.programs[rank.role], rank.role, costs.of_rank(rank.representative),
                                        traffic, slots_of);
    }
}

}  // namespace orrery::sim
