#include "cli/points.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "calibrate/measure/subject.hpp"
#include "strategies/build.hpp"

namespace orrery::cli {

namespace {

using strategies::Collective;
using strategies::Program;

/// Ranks of a group each own a whole number of fp32 elements.
std::uint64_t whole(std::uint64_t bytes, std::uint32_t ranks) {
    const std::uint64_t unit = std::uint64_t{4} * ranks;
    return std::max(unit, bytes / unit * unit);
}

}  // namespace

std::string points_json(const scenarios::Scenario& scenario, std::uint32_t ranks, std::size_t& left_out) {
    const strategies::StepProgram step = strategies::build(scenario.plan);
    std::set<std::string> seen;
    nlohmann::json points = nlohmann::json::array();
    const auto add = [&](const calibrate::Subject& subject) {
        if (seen.insert(calibrate::to_text(subject)).second) points.push_back(calibrate::to_json(subject));
    };
    for (const kernels::Kernel& kernel : step.kernels) add(kernel);
    std::set<std::string> others;
    const auto message = [&](std::uint64_t bytes) {
        const calibrate::CollectiveShape shape{kernels::CollectiveKind::send_recv, 2, bytes};
        if (ranks == 2)
            add(shape);
        else
            others.insert(calibrate::to_text(calibrate::Subject(shape)));
    };
    const auto collectives = [&](const Program& program) {
        for (const auto& op : program.ops) {
            if (const auto* send = std::get_if<strategies::Send>(&op.what)) message(send->bytes);
            const auto* c = std::get_if<Collective>(&op.what);
            if (c == nullptr) continue;
            const std::uint32_t group = step.mesh.group_size(c->group);
            if (group < 2) continue;
            const calibrate::CollectiveShape shape{c->kind, group, whole(c->bytes, group)};
            if (group == ranks)
                add(shape);
            else
                others.insert(calibrate::to_text(calibrate::Subject(shape)));
        }
    };
    for (const Program& block : step.blocks) collectives(block);
    for (const Program& program : step.programs) collectives(program);
    left_out = others.size();
    return nlohmann::json{{"points", std::move(points)}}.dump(1) + '\n';
}

}  // namespace orrery::cli
