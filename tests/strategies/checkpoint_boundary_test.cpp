// Layers that run again, at whose ends the host waits for the device.
#include "strategies/checkpoint_boundary.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "strategies/build.hpp"
#include "strategies/hazards.hpp"
#include "strategies/step_program.hpp"
#include "tests/strategies/tiny_plan.hpp"

namespace orrery::strategies {
namespace {

Plan waiting(std::uint32_t pipeline = 1, std::uint32_t data = 2) {
    Plan plan = tiny_plan(1, pipeline, data);
    plan.strategy.recompute = Recompute::full;
    plan.strategy.synchronize_checkpoints = true;
    return plan;
}

std::string_view name_of(const StepProgram& step, const Op& op) { return step.names[op.label.name]; }

std::vector<std::uint32_t> waits(const StepProgram& step, const Program& program) {
    std::vector<std::uint32_t> found;
    for (std::uint32_t i = 0; i < program.ops.size(); ++i)
        if (std::holds_alternative<HostSync>(program.ops[i].what) &&
            name_of(step, program.ops[i]) == "checkpoint boundary")
            found.push_back(i);
    return found;
}

TEST(CheckpointBoundary, IsThereOnlyWhereItIsAskedFor) {
    Plan plan = waiting();
    plan.strategy.synchronize_checkpoints = false;
    const StepProgram without = build(plan);
    EXPECT_TRUE(waits(without, without.programs[0]).empty());
}

/// One behind each layer's forward and backward; one more before the first of each, behind embedding and loss, which
/// are no checkpoints and stand on the first and on the last stage. At the pipeline's end one backward of the first
/// stage follows the other, and waits for the embedding's.
TEST(CheckpointBoundary, StandsAtTheEndsOfLayersThatRunAgain) {
    for (const std::uint32_t pipeline : {1U, 2U}) {
        const Plan plan = waiting(pipeline);
        const StepProgram step = build(plan);
        EXPECT_EQ(verify(step), std::vector<std::string>{});
        const std::uint32_t layers = plan.model.layers / pipeline;
        for (std::uint32_t stage = 0; stage < pipeline; ++stage) {
            const std::uint32_t ends = (stage == 0 ? 1 : 0) + (stage + 1 == pipeline ? 1 : 0);
            const std::uint32_t in_a_row = stage == 0 ? pipeline - 1 : 0;
            EXPECT_EQ(waits(step, step.programs[stage]).size(), plan.micro_batches() * (2 * layers + ends) + in_a_row);
        }
    }
}

TEST(CheckpointBoundary, OfSomeLayersOnlyTheirsAreWaitedFor) {
    Plan plan = waiting();
    plan.strategy.recompute_num_layers = 1;
    const StepProgram step = build(plan);
    // Forward: before and behind the first layer. Backward: the layer before it ran without, so before and behind.
    EXPECT_EQ(waits(step, step.programs[0]).size(), plan.micro_batches() * 4);
}

/// torch.cuda.synchronize waits for every stream: what a layer's backward has set off is waited for behind it.
TEST(CheckpointBoundary, TheHostWaitsForReductionsBesideTheBackward) {
    Plan plan = waiting();
    plan.strategy.overlap_grad_reduce = true;
    plan.strategy.bucket_bytes = 1;  // a bucket for each layer
    const StepProgram step = build(plan);
    const Program& program = step.programs[0];
    const Hazards hazards(program);
    std::uint32_t last_reduction = 0, waited = 0;
    for (std::uint32_t i = 0; i < program.ops.size(); ++i) {
        if (program.ops[i].lane == Lane::data) last_reduction = i;
        if (last_reduction == 0 || name_of(step, program.ops[i]) != "checkpoint boundary") continue;
        if (program.ops[i].label.phase != Phase::backward) continue;
        const auto& before = hazards.of(i);
        if (std::ranges::find(before, last_reduction) != before.end()) ++waited;
    }
    EXPECT_GE(waited, plan.model.layers - 1);
}

TEST(CheckpointBoundary, WhatItDoesNotStandBesideIsRefused) {
    const auto refused = [](auto change) {
        Plan plan = waiting();
        change(plan.strategy);
        return refused_at(plan);
    };
    const std::string key = "/strategy/synchronize_checkpoint_boundary";
    EXPECT_EQ(refused([](Strategy&) {}), "accepted");
    EXPECT_EQ(refused([](Strategy& s) { s.recompute = Recompute::none; }), key);
    EXPECT_EQ(refused([](Strategy& s) { s.sharding = Sharding::zero3; }), key);
    EXPECT_EQ(refused([](Strategy& s) {
                  s.sharding = Sharding::zero1;
                  s.overlap_grad_reduce = s.overlap_param_gather = true;
              }),
              key);
    EXPECT_EQ(refused([](Strategy& s) { s.cpu_offloading_num_layers = 1; }), key);
}

}  // namespace
}  // namespace orrery::strategies
