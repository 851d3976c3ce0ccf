// Programs whose way through the stages turns around.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "strategies/build.hpp"
#include "strategies/memory.hpp"
#include "tests/strategies/tiny_plan.hpp"

namespace orrery::strategies {
namespace {

using Problems = std::vector<std::string>;

Plan v_shaped(std::uint32_t pipeline, std::uint32_t micro_batches, ScheduleKind kind = ScheduleKind::zb_v) {
    Plan plan = tiny_plan(1, pipeline);
    plan.model.layers = 4 * pipeline;
    plan.strategy.schedule = kind;
    plan.strategy.virtual_pipeline = 2;
    plan.training.global_batch = plan.training.micro_batch * micro_batches;
    return plan;
}

/// The same works as 1F1B does, of the same layers, and no message where the way turns.
TEST(VShape, DoesTheWorkOfAnySchedule) {
    for (const ScheduleKind kind : {ScheduleKind::zb_v, ScheduleKind::v_half, ScheduleKind::v_min})
        for (const std::uint32_t pipeline : {2U, 3U, 5U})
            for (const std::uint32_t micro_batches : {1U, 2U, 7U, 12U}) {
                const Plan plan = v_shaped(pipeline, micro_batches, kind);
                validate(plan);
                const StepProgram step = build(plan);
                EXPECT_EQ(verify(step), Problems{});
                Plan plain = plan;
                plain.strategy.schedule = ScheduleKind::one_f_one_b;
                plain.strategy.virtual_pipeline = 1;
                EXPECT_DOUBLE_EQ(kernel_flops(step), kernel_flops(build(plain)));
                std::size_t sends = 0;
                for (const Program& program : step.programs)
                    sends += std::ranges::count_if(program.ops,
                                                   [](const Op& op) { return std::holds_alternative<Send>(op.what); });
                EXPECT_EQ(sends, 4 * (pipeline - 1) * micro_batches);
            }
}

/// The first stage has the first layers and the last ones, with the words that both ends share; the last stage those
/// in the middle.
TEST(VShape, LayersTurn) {
    const StepProgram step = build(v_shaped(2, 4));
    const auto layers = [&](std::uint32_t role) {
        std::set<std::int32_t> found;
        for (const Op& op : step.programs[role].ops)
            if (std::holds_alternative<Call>(op.what)) found.insert(op.label.layer);
        return found;
    };
    EXPECT_EQ(layers(0), (std::set<std::int32_t>{-1, 0, 1, 6, 7, 8}));
    EXPECT_EQ(layers(1), (std::set<std::int32_t>{2, 3, 4, 5}));
    for (const Op& op : step.programs[0].ops)
        EXPECT_NE(step.names[op.label.name], "embedding gradient exchange") << "nothing to exchange";
}

/// Qi et al. 2024, table 1: V-ZB keeps on every stage what 1F1B's first stage keeps, V-Half about half of it.
TEST(VShape, MemoryIsThatOfTheBlock) {
    constexpr std::uint32_t stages = 8, micro_batches = 32;
    const auto activations = [](const StepProgram& step, std::uint32_t role) {
        const StageMemory all = memory(step, role);
        return static_cast<double>(all.at_peak[static_cast<std::size_t>(Keep::activation)]);
    };
    Plan plain = v_shaped(stages, micro_batches);
    plain.strategy.schedule = ScheduleKind::one_f_one_b;
    plain.strategy.virtual_pipeline = 1;
    const double first = activations(build(plain), 1);  // without the embedding
    const auto middle = [&](ScheduleKind kind) {
        return activations(build(v_shaped(stages, micro_batches, kind)), stages / 2) / first;
    };
    const double zb = middle(ScheduleKind::zb_v), half = middle(ScheduleKind::v_half),
                 least = middle(ScheduleKind::v_min);
    EXPECT_NEAR(zb, 8.0 / 7, 0.2);
    EXPECT_NEAR(half, 0.6 * zb, 0.15);
    EXPECT_NEAR(least, 0.45 * zb, 0.15);
    EXPECT_LT(least, half);
}

TEST(VShape, WhatDoesNotFitIsRefused) {
    const auto pointer = [](auto change) {
        Plan plan = v_shaped(4, 8);
        change(plan);
        return refused_at(plan);
    };
    EXPECT_EQ(pointer([](Plan&) {}), "accepted");
    EXPECT_EQ(pointer([](Plan& p) { p.training.global_batch -= p.training.micro_batch; }), "accepted") << "any number";
    EXPECT_EQ(pointer([](Plan& p) { p.strategy.virtual_pipeline = 1; }), "/strategy/virtual_pipeline");
    EXPECT_EQ(pointer([](Plan& p) { p.strategy.virtual_pipeline = 4; }), "/strategy/virtual_pipeline");
    EXPECT_EQ(pointer([](Plan& p) { p.strategy.recompute = Recompute::full; }), "/strategy/recompute");
    EXPECT_EQ(pointer([](Plan& p) { p.strategy.first_stage_layers = 2; }),
              "/strategy/num_layers_in_first_pipeline_stage");
    EXPECT_EQ(pointer([](Plan& p) { p.strategy.pipeline_layers = "1,2,2,3,3,2,2,1"; }), "accepted");
}

}  // namespace
}  // namespace orrery::strategies
