// Programs with most rounds of their steady pipeline left out.
#include "strategies/rounds.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "strategies/build.hpp"
#include "strategies/memory.hpp"
#include "strategies/step_program.hpp"
#include "tests/strategies/tiny_plan.hpp"

namespace orrery::strategies {
namespace {

Plan plan_of(ScheduleKind schedule, std::uint32_t chunks, std::uint32_t micro_batches) {
    Plan plan = tiny_plan(2, 2, 2);
    plan.strategy.schedule = schedule;
    plan.strategy.virtual_pipeline = chunks;
    plan.training.global_batch = plan.training.micro_batch * plan.strategy.data * micro_batches;
    return plan;
}

/// How often a step runs each kind of operation, by names; calls by their blocks.
std::map<std::string, std::uint64_t> census(const StepProgram& step, const Program& program) {
    std::map<std::string, std::uint64_t> counts;
    for (std::uint32_t i = 0; i < program.ops.size(); ++i) {
        const Op& op = program.ops[i];
        if (const auto* call = std::get_if<Call>(&op.what))
            counts["block " + std::to_string(call->block)] += call->times * program.rounds.times(i);
        else
            counts[step.names[op.label.name] + " of layer " + std::to_string(op.label.layer) + " on " +
                   std::string(name(op.lane))] += program.rounds.times(i);
    }
    return counts;
}

/// The most layers that one call stands for.
std::uint32_t most_layers(const Program& program) {
    std::uint32_t most = 0;
    for (const Op& op : program.ops)
        if (const auto* call = std::get_if<Call>(&op.what)) most = std::max(most, call->times);
    return most;
}

void expect_the_same_step(const Plan& plan, std::uint32_t written) {
    const StepProgram whole = build(plan);
    const std::optional<StepProgram> shortened = build_shortened(plan, written);
    ASSERT_TRUE(shortened);
    for (std::uint32_t role = 0; role < whole.programs.size(); ++role) {
        const Program& program = shortened->programs[role];
        EXPECT_LT(program.ops.size(), whole.programs[role].ops.size());
        EXPECT_GE(program.rounds.written, 2U);
        EXPECT_EQ(census(*shortened, program), census(whole, whole.programs[role]));
        EXPECT_EQ(unrolled_ops(*shortened, role), unrolled_ops(whole, role));
        EXPECT_EQ(unrolled_ops(unrolled(*shortened), role), unrolled_ops(whole, role));
        const StageMemory one = memory(*shortened, role), other = memory(whole, role);
        EXPECT_EQ(one.at_peak, other.at_peak);
        EXPECT_EQ(one.before_backward, other.before_backward);
        EXPECT_EQ(one.after_backward, other.after_backward);
        EXPECT_EQ(one.after_optimizer, other.after_optimizer);
    }
}

TEST(Rounds, StandForThoseThatAreLeftOut) {
    expect_the_same_step(plan_of(ScheduleKind::one_f_one_b, 1, 40), 6);
    expect_the_same_step(plan_of(ScheduleKind::interleaved, 2, 40), 12);
    expect_the_same_step(plan_of(ScheduleKind::interleaved, 2, 8), 6);
    expect_the_same_step(plan_of(ScheduleKind::zb_h1, 1, 40), 7);
    Plan sharded = plan_of(ScheduleKind::one_f_one_b, 1, 40);
    sharded.strategy.sharding = Sharding::zero3;
    expect_the_same_step(sharded, 8);
    Plan plus_plus = tiny_plan(1, 1, 4);
    plus_plus.training.precision = {.compute = kernels::Dtype::fp16, .grad_reduce = kernels::Dtype::fp16};
    plus_plus.training.global_batch = plus_plus.training.micro_batch * 4 * 40;
    plus_plus.strategy.sharding = Sharding::zero3;
    plus_plus.strategy.quantized_weights = plus_plus.strategy.quantized_gradients = true;
    plus_plus.strategy.secondary_partition = plus_plus.strategy.node_ranks = 2;
    expect_the_same_step(plus_plus, 8);
    Plan offloaded = plan_of(ScheduleKind::one_f_one_b, 1, 40);
    offloaded.strategy.cpu_offloading_num_layers = 1;
    expect_the_same_step(offloaded, 8);
}

TEST(Rounds, CallLayersThatAreAlikeAtOnce) {
    for (const Recompute recompute : {Recompute::none, Recompute::selective, Recompute::full})
        for (const bool overlaps : {false, true}) {
            Plan plan = plan_of(ScheduleKind::one_f_one_b, 1, 40);
            plan.model.layers = 12;
            plan.strategy.recompute = recompute;
            plan.strategy.overlap_grad_reduce = overlaps;
            expect_the_same_step(plan, 6);
            const std::optional<StepProgram> shortened = build_shortened(plan, 6);
            ASSERT_TRUE(shortened);
            EXPECT_EQ(most_layers(shortened->programs.front()), 6U);  // behind the embedding
            EXPECT_EQ(most_layers(shortened->programs.back()), 5U);   // behind the first, which takes what arrives
            EXPECT_EQ(verify(*shortened), std::vector<std::string>{});
            EXPECT_NE(to_text(*shortened, 0).find("forward, 6 times"), std::string::npos);
            EXPECT_EQ(most_layers(build(plan).programs.front()), 1U);
        }
}

TEST(Rounds, CallLayerByLayerWhatStandsBetweenOrDiffers) {
    const auto most = [](const Plan& plan) { return most_layers(build_shortened(plan, 8)->programs.front()); };
    Plan plan = plan_of(ScheduleKind::one_f_one_b, 1, 40);
    plan.model.layers = 12;
    EXPECT_EQ(most(plan), 6U);
    Plan sharded = plan;
    sharded.strategy.sharding = Sharding::zero3;
    EXPECT_EQ(most(sharded), 1U);
    Plan offloaded = plan;
    offloaded.strategy.cpu_offloading_num_layers = 2;
    EXPECT_EQ(most(offloaded), 1U);
    Plan partly = plan;  // three of a stage's six run again
    partly.strategy.recompute = Recompute::full;
    partly.strategy.recompute_num_layers = 3;
    EXPECT_EQ(most(partly), 3U);
}

TEST(Rounds, AreThereOnlyWhereAPipelineIsSteady) {
    EXPECT_FALSE(build_shortened(plan_of(ScheduleKind::gpipe, 1, 40), 8));
    EXPECT_FALSE(build_shortened(plan_of(ScheduleKind::one_f_one_b, 1, 6), 6));
    EXPECT_FALSE(build_shortened(plan_of(ScheduleKind::one_f_one_b, 1, 40), 2));
}

}  // namespace
}  // namespace orrery::strategies
