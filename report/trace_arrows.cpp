#include "report/trace_arrows.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <tuple>
#include <variant>

#include "strategies/messages.hpp"

namespace orrery::report {

namespace {

/// Messages that meet each other in order: sending and receiving rank, axis, whether they are gradients.
using Channel = std::tuple<std::uint32_t, std::uint32_t, strategies::Axis, bool>;
using Ends = std::map<Channel, std::vector<Arrow::End>>;

struct Messages {
    Ends sent, received;
};

void collect(const sim::Step& p, const Tracks& tracks, std::size_t track, Messages& out) {
    const sim::RankClass& ranks = p.trace[tracks.shown[track].rank_class];
    const strategies::Program& program = p.program.programs[ranks.role];
    const std::uint32_t rank = ranks.representative;
    for (std::size_t i = 0; i < program.ops.size(); ++i) {
        const strategies::Op& op = program.ops[i];
        const bool gradients = strategies::carries_gradients(op.lane);
        const Arrow::End end{track, op.lane, ranks.spans[i]};
        if (const auto* send = std::get_if<strategies::Send>(&op.what); send != nullptr)
            out.sent[{rank, p.program.mesh.peer(rank, send->axis, send->delta), send->axis, gradients}].push_back(end);
        if (const auto* receive = std::get_if<strategies::Recv>(&op.what); receive != nullptr)
            out.received[{p.program.mesh.peer(rank, receive->axis, receive->delta), rank, receive->axis, gradients}]
                .push_back(end);
    }
}

}  // namespace

std::vector<Arrow> arrows(const sim::Step& p, const Tracks& tracks, const TraceExtent& extent) {
    Messages messages;
    for (std::size_t track = 0; track < tracks.shown.size(); ++track) collect(p, tracks, track, messages);
    std::vector<Arrow> list;
    for (const auto& [channel, sent] : messages.sent) {
        const auto met = messages.received.find(channel);
        if (met == messages.received.end()) continue;
        for (std::size_t k = 0; k < std::min(sent.size(), met->second.size()); ++k)
            if (sent[k].span.begin < extent.until && met->second[k].span.begin < extent.until)
                list.push_back({sent[k], met->second[k]});
    }
    return list;
}

}  // namespace orrery::report
