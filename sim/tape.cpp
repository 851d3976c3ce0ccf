#include "sim/tape.hpp"

#include "base/overloaded.hpp"
#include "strategies/hazards.hpp"

namespace orrery::sim {

namespace {

using strategies::Collective;
using strategies::HostSync;
using strategies::Recv;
using strategies::Send;
using Kind = Tape::Kind;

void read(const strategies::What& what, const Traffic& traffic, Tape::Op& op) {
    const auto set = [&](Tape::Kind kind, std::uint32_t route, std::uint64_t bytes) {
        op.kind = kind;
        op.route = route;
        op.bytes = bytes;
    };
    std::visit(Overloaded{[&](const Send& s) {
                              set(Kind::send, traffic.number({s.axis, s.delta}), s.bytes);
                          },
                          [&](const Recv& r) {
                              set(Kind::receive, traffic.number({r.axis, -r.delta}), r.bytes);
                          },
                          [&](const Collective& c) { set(Kind::collective, traffic.number(c.group), c.bytes); },
                          [&](const HostSync&) { set(Kind::sync, Tape::none, 0); },
                          [&](const auto&) { set(Kind::local, Tape::none, 0); }},
               what);
}

}  // namespace

Tape::Tape(const strategies::Program& program, std::uint32_t role, const Costs& costs, const Traffic& traffic) {
    const strategies::Hazards hazards(program);
    const Slots kept(program, hazards);
    slots = kept.count;
    const auto count = static_cast<std::uint32_t>(program.ops.size());
    ops.resize(count);
    double host = 0;
    std::uint32_t segment = 0;
    for (std::uint32_t i = 0; i < count; ++i) {
        Op& op = ops[i];
        op.lane = static_cast<std::uint8_t>(program.ops[i].lane);
        read(program.ops[i].what, traffic, op);
        op.collective = std::get_if<strategies::Collective>(&program.ops[i].what);
        op.first_wait = static_cast<std::uint32_t>(waits.size());
        op.place = kept.place[i];
        op.slot = kept.slot[i];
        for (const std::uint32_t other : hazards.of(i)) waits.push_back({kept.place[other], kept.slot[other]});
        op.waits = static_cast<std::uint32_t>(waits.size()) - op.first_wait;
        op.cost = costs.of(role, i);
        op.host = host;
        op.segment = segment;
        host += op.cost.host;
        if (op.kind == Kind::sync) {
            syncs.push_back(i);
            ++segment;
            host = 0;
        } else {
            queue[op.lane].push_back(i);
        }
    }
}

}  // namespace orrery::sim
