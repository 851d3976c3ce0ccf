#include "strategies/build.hpp"

#include <algorithm>
#include <utility>

#include "strategies/schedule/schedule.hpp"
#include "strategies/stage.hpp"
#include "strategies/stage_program.hpp"

namespace orrery::strategies {

namespace {

StepProgram build(const Plan& plan, std::uint32_t left_out) {
    StepProgram step;
    step.mesh = plan.mesh();
    Intern intern(step);
    const ModelBlocks blocks = add_model_blocks(step, intern, plan);
    for (std::uint32_t p = 0; p < plan.strategy.pipeline; ++p)
        step.programs.push_back(stage_program(plan, blocks, place_layers(blocks, plan, p), intern, left_out));
    step.role.resize(step.mesh.ranks());
    for (std::uint32_t rank = 0; rank < step.mesh.ranks(); ++rank)
        step.role[rank] = static_cast<std::uint16_t>(step.mesh.coordinate(rank, Axis::pipeline));
    return step;
}

}  // namespace

StepProgram build(const Plan& plan) { return build(plan, 0); }

std::optional<StepProgram> build_shortened(const Plan& plan, std::uint32_t micro_batches) {
    const std::uint32_t all = plan.micro_batches();
    const std::uint32_t round = schedule_of(plan.strategy.schedule).round(plan.pipeline_shape());
    if (round == 0 || micro_batches >= all) return std::nullopt;
    const std::uint32_t left_out = (all - micro_batches) / round;
    // A pipeline that is never full does not go as a longer one does.
    if (left_out == 0 || all - left_out * round <= plan.strategy.pipeline) return std::nullopt;
    Plan shorter = plan;
    shorter.training.global_batch -= left_out * round * plan.training.micro_batch * plan.strategy.data;
    StepProgram step = build(shorter, left_out);
    const bool steady = std::ranges::all_of(step.programs, [](const Program& p) { return p.rounds.ops > 0; });
    return steady ? std::optional(std::move(step)) : std::nullopt;
}

}  // namespace orrery::strategies
