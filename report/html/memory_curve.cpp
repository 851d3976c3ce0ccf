#include "report/html/memory_curve.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "report/breakdown.hpp"

namespace orrery::report {

namespace {

using Json = nlohmann::ordered_json;
using strategies::Keep;
using strategies::StageMemory;

/// The first class of the ranks whose memory stands for a stage; null where its spans were not kept.
const sim::RankClass* ranks_of(const sim::Prediction& p, std::size_t stage) {
    for (const sim::RankClass& ranks : p.trace)
        if (ranks.role == p.memory[stage].role && !ranks.spans.empty()) return &ranks;
    return nullptr;
}

}  // namespace

Json memory_curve(const sim::Prediction& p) {
    const std::size_t stage = p.fullest_stage();
    const sim::RankClass* ranks = p.memory.empty() ? nullptr : ranks_of(p, stage);
    if (ranks == nullptr) return {};
    const strategies::Program& program = p.program.programs[ranks->role];
    Json seconds = Json::array(), kinds = Json::array();
    std::vector<const StageMemory::Sample*> samples;
    std::size_t op = 0;
    // A sample holds from the first operation of the compute lane on that follows it in program order.
    for (const StageMemory::Sample& sample : p.memory[stage].over_time) {
        op = std::max<std::size_t>(op, sample.op);
        while (op < program.ops.size() && program.ops[op].lane != strategies::Lane::compute) ++op;
        if (op == program.ops.size()) break;
        seconds.push_back(ranks->spans[op].begin);
        samples.push_back(&sample);
    }
    for (std::size_t keep = 0; keep < strategies::keeps; ++keep) {
        Json bytes = Json::array();
        for (const StageMemory::Sample* sample : samples) bytes.push_back(sample->by_keep[keep]);
        kinds.push_back({{"name", name(static_cast<Keep>(keep))}, {"bytes", std::move(bytes)}});
    }
    return {{"stage", stage}, {"seconds", std::move(seconds)}, {"kinds", std::move(kinds)}};
}

}  // namespace orrery::report
