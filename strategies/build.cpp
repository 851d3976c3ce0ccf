#include "strategies/build.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "strategies/replica_batches.hpp"
#include "strategies/schedule/schedule.hpp"
#include "strategies/stage.hpp"
#include "strategies/stage_program.hpp"

namespace orrery::strategies {

namespace {

/// Of each rank. Ranks of a stage follow each other: no axis is slower than the pipeline's.
std::vector<std::uint16_t> roles_of(const StepProgram& step, const ReplicaCounts& counts) {
    const std::uint32_t of_stage = step.mesh.ranks() / step.mesh.along(Axis::pipeline);
    std::vector<std::uint16_t> roles;
    roles.reserve(step.mesh.ranks());
    for (std::size_t first = 0; first < step.programs.size(); first += counts.distinct.size())
        roles.insert(roles.end(), of_stage, static_cast<std::uint16_t>(first));
    if (!counts.unequal()) return roles;
    for (std::uint32_t rank = 0; rank < roles.size(); ++rank)
        roles[rank] = static_cast<std::uint16_t>(roles[rank] + counts.which[step.mesh.data_rank(rank)]);
    return roles;
}

StepProgram build(const Plan& plan, std::uint32_t left_out) {
    StepProgram step;
    step.mesh = plan.mesh();
    step.steps = plan.pipeline_shape().steps;
    Intern intern(step);
    const ModelBlocks blocks = add_model_blocks(step, intern, plan);
    const ReplicaCounts counts = replica_counts(plan);
    for (std::uint32_t p = 0; p < plan.strategy.pipeline; ++p) {
        const Stage stage = place_layers(blocks, plan, p);
        for (const std::uint32_t each : counts.distinct) {
            const Plan own = counts.unequal() ? with_own_micro_batches(plan, each) : plan;
            step.programs.push_back(stage_program(own, blocks, stage, intern, left_out));
            if (counts.unequal()) step.programs.back().name += fmt::format(", {} micro-batches", each);
        }
    }
    step.role = roles_of(step, counts);
    return step;
}

bool steady(const StepProgram& step) {
    return std::ranges::all_of(step.programs, [](const Program& p) { return p.rounds.ops > 0; });
}

/// Of a schedule without flushes: as many whole steps as the micro-batches fill, and so many left out that what leads
/// in and out is no part of a step's share.
std::optional<StepProgram> build_long_window(const Plan& plan, std::uint32_t micro_batches) {
    constexpr std::uint32_t most = 1U << 20U;  // micro-batches
    const std::uint32_t of_step = plan.micro_batches(), written = (micro_batches + of_step - 1) / of_step;
    const std::uint32_t left_out = std::max(most / of_step, 2 * written) - written;
    Plan shorter = plan;
    shorter.window_steps = written;
    StepProgram window = build(shorter, left_out);
    window.steps += left_out;
    return steady(window) ? std::optional(std::move(window)) : std::nullopt;
}

}  // namespace

StepProgram build(const Plan& plan) { return build(plan, 0); }

std::optional<StepProgram> build_shortened(const Plan& plan, std::uint32_t micro_batches) {
    if (unequal_replicas(plan)) return std::nullopt;  // pipelines beside each other are not steady equally long
    const Schedule& schedule = schedule_of(plan.strategy.schedule);
    if (schedule.asynchronous) return build_long_window(plan, micro_batches);
    const std::uint32_t all = plan.micro_batches(), round = schedule.round(plan.pipeline_shape());
    if (round == 0 || micro_batches >= all) return std::nullopt;
    const std::uint32_t left_out = (all - micro_batches) / round;
    // A pipeline that is never full does not go as a longer one does.
    if (left_out == 0 || all - left_out * round <= plan.strategy.pipeline) return std::nullopt;
    Plan shorter = plan;
    shorter.strategy.replica_micro_batches.clear();  // all alike
    shorter.training.global_batch -= left_out * round * plan.training.micro_batch * plan.strategy.data;
    StepProgram step = build(shorter, left_out);
    return steady(step) ? std::optional(std::move(step)) : std::nullopt;
}

}  // namespace orrery::strategies
