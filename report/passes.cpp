#include "report/passes.hpp"

#include <variant>

#include "report/operation.hpp"

namespace orrery::report {

namespace {

using strategies::Op;

bool same_pass(const Op& a, const Op& b) {
    return a.label.micro_batch >= 0 && a.label.layer >= 0 && b.label.layer >= 0 &&
           a.label.micro_batch == b.label.micro_batch && a.label.phase == b.label.phase;
}

}  // namespace

std::array<std::vector<Pass>, strategies::lanes> passes(const strategies::Program& program,
                                                        const std::vector<sim::Span>& spans) {
    std::array<std::vector<Pass>, strategies::lanes> lanes;
    for (std::uint32_t i = 0; i < program.ops.size(); ++i) {
        const Op& op = program.ops[i];
        if (std::holds_alternative<strategies::HostSync>(op.what)) continue;
        std::vector<Pass>& lane = lanes.at(static_cast<std::size_t>(op.lane));
        if (!lane.empty() && same_pass(program.ops[lane.back().ops.back()], op)) {
            lane.back().ops.push_back(i);
            lane.back().end = spans[i].end;
        } else {
            lane.push_back({{i}, spans[i].begin, spans[i].end});
        }
    }
    return lanes;
}

std::string_view hue(const strategies::StepProgram& step, const Op& op) {
    const std::string_view kind = category(step, op);
    if (kind == "communication" || kind == "copy" || kind == "host") return kind;
    return name(op.label.phase);
}

}  // namespace orrery::report
