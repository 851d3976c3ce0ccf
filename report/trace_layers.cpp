#include "report/trace_layers.hpp"

#include <algorithm>
#include <utility>
#include <variant>

namespace orrery::report {

namespace {

/// The times of a called block; nullptr where it is no call, or none are known.
const std::vector<sim::Span>* times_of(const sim::Step& p, const strategies::Op& op) {
    const auto* const call = std::get_if<strategies::Call>(&op.what);
    if (call == nullptr || call->block >= p.blocks.size() || p.blocks[call->block].empty()) return nullptr;
    return &p.blocks[call->block];
}

}  // namespace

std::vector<Inner> inside(const sim::Step& p, const strategies::Op& op, const sim::Span& span) {
    std::vector<Inner> list;
    const std::vector<sim::Span>* const times = times_of(p, op);
    if (times == nullptr) return list;
    const strategies::Program& block = p.program.blocks[std::get<strategies::Call>(op.what).block];
    double length = 0;
    for (const sim::Span& each : *times) length = std::max(length, each.end);
    const double scale = length > 0 ? (span.end - span.begin) / length : 0;
    for (std::size_t i = 0; i < times->size(); ++i)
        list.push_back({&block.ops[i], span.begin + scale * (*times)[i].begin,
                        std::min(span.end, span.begin + scale * (*times)[i].end)});
    return list;
}

std::vector<std::size_t> inner_counts(const sim::Step& p, const Tracks& tracks) {
    std::vector<std::size_t> counts;
    for (const Track& track : tracks.shown)
        for (const strategies::Op& op : p.program.programs[p.trace[track.rank_class].role].ops) {
            const std::vector<sim::Span>* const times = times_of(p, op);
            if (times == nullptr) continue;
            const auto micro_batch = static_cast<std::size_t>(std::max(op.label.micro_batch, 0));
            if (counts.size() <= micro_batch) counts.resize(micro_batch + 1);
            counts[micro_batch] += times->size();
        }
    return counts;
}

}  // namespace orrery::report
