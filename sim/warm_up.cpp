#include "sim/warm_up.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "sim/run_step.hpp"

namespace orrery::sim {

double exchanged_bytes(const strategies::StepProgram& step) {
    std::vector<double> of_role;
    for (const strategies::Program& program : step.programs) {
        double sent = 0;
        for (std::uint32_t i = 0; i < program.ops.size(); ++i) {
            const auto* collective = std::get_if<strategies::Collective>(&program.ops[i].what);
            if (collective == nullptr || !strategies::among_data_ranks(program.ops[i].lane)) continue;
            sent += static_cast<double>(program.rounds.times(i)) * static_cast<double>(collective->bytes) *
                    kernels::bus_factor(collective->on_links(), step.mesh.group_size(collective->group));
        }
        of_role.push_back(sent);
    }
    double all = 0;
    for (const std::uint16_t role : step.role) all += of_role[role];
    return all / static_cast<double>(step.role.size()) / step.steps;
}

std::optional<WarmUp> warm_up(const scenarios::Scenario& scenario, Site& site, const strategies::StepProgram& step,
                              double step_time_s) {
    if (!scenario.plan.compresses()) return std::nullopt;
    strategies::Plan plain = scenario.plan;
    plain.strategy.compression = strategies::Compression::none;
    const auto ran = run_plan(plain, site.cluster, site.profiles, {.foldings = &site.foldings});
    WarmUp stage{.step_time_s = ran->seconds(),
                 .steps = static_cast<double>(plain.strategy.freeze_step),
                 .bytes = exchanged_bytes(ran->program),
                 .later_bytes = exchanged_bytes(step),
                 .later_step_time_s = step_time_s};
    if (scenario.outputs.token_budget > 0) {
        const double steps = std::max(1.0, std::round(scenario.outputs.token_budget / plain.examples()));
        stage.share = std::min(1.0, stage.steps / steps);
    }
    return stage;
}

}  // namespace orrery::sim
