// Programs of pipelines without flushes.
#include <gtest/gtest.h>

#include <algorithm>

#include "strategies/build.hpp"
#include "strategies/memory.hpp"
#include "tests/strategies/tiny_plan.hpp"

namespace orrery::strategies {
namespace {

using Problems = std::vector<std::string>;

Plan without_flushes(ScheduleKind kind, std::uint32_t pipeline, std::uint32_t micro_batches, std::uint32_t data = 1) {
    Plan plan = tiny_plan(1, pipeline, data);
    plan.model = tiny_llama();
    plan.model.layers = 8;
    plan.strategy.schedule = kind;
    plan.training.global_batch = plan.training.micro_batch * micro_batches * data;
    return plan;
}

std::ptrdiff_t count(const StepProgram& step, std::uint32_t role, std::string_view name) {
    return std::ranges::count_if(step.programs[role].ops,
                                 [&](const Op& op) { return step.names[op.label.name] == name; });
}

TEST(Asynchronous, EachStepOfAWindowUpdatesOnce) {
    for (const ScheduleKind kind :
         {ScheduleKind::pipedream, ScheduleKind::pipedream_vertical_sync, ScheduleKind::pipedream_2bw})
        for (const std::uint32_t pipeline : {1U, 2U, 4U})
            for (const std::uint32_t data : {1U, 2U})
                for (const bool overlap : {false, true}) {
                    Plan plan = without_flushes(kind, pipeline, kind == ScheduleKind::pipedream_2bw ? 4 : 1, data);
                    plan.strategy.overlap_grad_reduce = overlap;
                    plan.window_steps = 6;
                    validate(plan);
                    const StepProgram step = build(plan);
                    EXPECT_EQ(verify(step), Problems{});
                    EXPECT_EQ(step.steps, 6U);
                    for (std::uint32_t role = 0; role < pipeline; ++role) {
                        EXPECT_EQ(count(step, role, "adam"), 6);
                        EXPECT_EQ(count(step, role, "zero gradients"), 6);
                        EXPECT_EQ(count(step, role, "gradient reduction"), data > 1 ? 6 : 0);
                        EXPECT_EQ(count(step, role, "forward"), count(step, role, "backward"));
                    }
                }
}

/// Narayanan et al., SOSP'19: a stage keeps as many versions of its weights as micro-batches under way, all else as
/// 1F1B; 2021: two.
TEST(Asynchronous, VersionsOfWeightsAreCounted) {
    constexpr std::uint32_t stages = 4;
    const auto weights = [](ScheduleKind kind, std::uint32_t micro_batches, std::uint32_t role) {
        const StageMemory all = memory(build(without_flushes(kind, stages, micro_batches)), role);
        return all.at_peak[static_cast<std::size_t>(Keep::weight)];
    };
    for (std::uint32_t role = 0; role < stages; ++role) {
        const std::uint64_t one = weights(ScheduleKind::one_f_one_b, 8, role);
        EXPECT_EQ(weights(ScheduleKind::pipedream, 1, role), (stages - role) * one);
        EXPECT_EQ(weights(ScheduleKind::pipedream_vertical_sync, 1, role), stages * one);
        EXPECT_EQ(weights(ScheduleKind::pipedream_2bw, 8, role), 2 * one);
    }
    const StepProgram flushed = build(without_flushes(ScheduleKind::one_f_one_b, stages, 8)),
                      steady = build(without_flushes(ScheduleKind::pipedream_2bw, stages, 8));
    for (std::uint32_t role = 0; role < stages; ++role) {
        const auto activations = static_cast<std::size_t>(Keep::activation);
        EXPECT_EQ(memory(steady, role).at_peak[activations], memory(flushed, role).at_peak[activations]);
    }
}

/// A shortened window holds whole steps, of which all but what leads in and out are alike.
TEST(Asynchronous, LongWindowsAreWrittenShort) {
    for (const ScheduleKind kind : {ScheduleKind::pipedream, ScheduleKind::pipedream_2bw, ScheduleKind::zb_h2}) {
        const Plan plan = without_flushes(kind, 4, kind == ScheduleKind::pipedream ? 1 : 7);
        const auto window = build_shortened(plan, 30);
        ASSERT_TRUE(window);
        EXPECT_EQ(verify(*window), Problems{});
        for (const Program& program : window->programs) {
            EXPECT_GT(program.rounds.written, 1U);
            EXPECT_EQ(program.rounds.left_out, window->programs.front().rounds.left_out);
        }
        EXPECT_GT(window->steps, 100'000U);
    }
}

TEST(Asynchronous, WhatItCannotKeepIsRefused) {
    const auto pointer = [](auto change) {
        Plan plan = without_flushes(ScheduleKind::pipedream_2bw, 4, 8, 2);
        change(plan);
        return refused_at(plan);
    };
    EXPECT_EQ(pointer([](Plan&) {}), "accepted");
    EXPECT_EQ(pointer([](Plan& p) { p.training.global_batch = 3 * 2 * p.training.micro_batch; }), "/strategy/schedule");
    EXPECT_EQ(pointer([](Plan& p) { p.strategy.sharding = Sharding::zero1; }), "/strategy/sharding");
    EXPECT_EQ(pointer([](Plan& p) { p.strategy.optimizer_cpu_offload = true; }), "/strategy/optimizer_cpu_offload");
    EXPECT_EQ(pointer([](Plan& p) { p.model = tiny_gpt(); }), "/model/tie_word_embeddings");
    EXPECT_EQ(pointer([](Plan& p) { p.model.further_tokens = 1; }), "/model/num_nextn_predict_layers");
}

}  // namespace
}  // namespace orrery::strategies
