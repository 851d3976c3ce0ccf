// Programs whose stages hold layers of two copies of the model, one in each direction.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "strategies/build.hpp"
#include "strategies/memory.hpp"
#include "tests/strategies/tiny_plan.hpp"

namespace orrery::strategies {
namespace {

using Problems = std::vector<std::string>;

Plan two_ways(ScheduleKind kind, std::uint32_t pipeline, std::uint32_t data = 1, std::uint32_t tensor = 1) {
    Plan plan = tiny_plan(tensor, pipeline, data);
    plan.model.layers = 2 * pipeline;
    plan.strategy.schedule = kind;
    if (kind == ScheduleKind::dual_pipe_v) plan.strategy.virtual_pipeline = 2;
    plan.training.global_batch = plan.training.micro_batch * 4 * pipeline * data;
    return plan;
}

Plan plain(Plan plan) {
    plan.strategy.schedule = ScheduleKind::one_f_one_b;
    plan.strategy.virtual_pipeline = 1;
    return plan;
}

/// Bytes of what is exchanged over a group, and how often each number is, by role.
std::uint64_t reduced(const StepProgram& step, std::uint32_t role, AxisSet group) {
    std::uint64_t bytes = 0;
    for (const Op& op : step.programs[role].ops)
        if (const auto* it = std::get_if<Collective>(&op.what);
            it != nullptr && it->group == group && step.names[op.label.name] == "gradient reduction")
            bytes += it->bytes;
    return bytes;
}

/// The same works as 1F1B does, of the same layers, with a message for each stage that a micro-batch goes on to.
TEST(TwoWays, DoTheWorkOfAnySchedule) {
    for (const ScheduleKind kind : {ScheduleKind::chimera, ScheduleKind::dual_pipe, ScheduleKind::dual_pipe_v})
        for (const std::uint32_t pipeline : {2U, 4U, 6U})
            for (const bool overlap : {false, true}) {
                Plan plan = two_ways(kind, pipeline, 2);
                plan.strategy.overlap_grad_reduce = overlap;
                validate(plan);
                const StepProgram step = build(plan);
                EXPECT_EQ(verify(step), Problems{});
                EXPECT_DOUBLE_EQ(kernel_flops(step), kernel_flops(build(plain(plan))));
                std::size_t sends = 0;
                for (const Program& program : step.programs)
                    sends += std::ranges::count_if(program.ops,
                                                   [](const Op& op) { return std::holds_alternative<Send>(op.what); });
                const std::size_t ways = kind == ScheduleKind::dual_pipe_v ? 4 : 2;
                EXPECT_EQ(sends, ways * (pipeline - 1) * plan.micro_batches());
            }
}

/// A stage holds its own layers and those of the stage opposite; the first and the last the words of both ends, which
/// need no exchange of their own.
TEST(TwoWays, StagesHoldTheLayersOfTwo) {
    const Plan plan = two_ways(ScheduleKind::chimera, 4);
    const StepProgram step = build(plan);
    const auto layers = [&](std::uint32_t role) {
        std::set<std::int32_t> found;
        for (const Op& op : step.programs[role].ops)
            if (std::holds_alternative<Call>(op.what)) found.insert(op.label.layer);
        return found;
    };
    EXPECT_EQ(layers(0), (std::set<std::int32_t>{-1, 0, 1, 6, 7, 8}));
    EXPECT_EQ(layers(3), layers(0));
    EXPECT_EQ(layers(1), (std::set<std::int32_t>{2, 3, 4, 5}));
    for (const Op& op : step.programs[0].ops) EXPECT_NE(step.names[op.label.name], "embedding gradient exchange");
}

/// Weights, gradients and states of two stages; both copies' gradients meet in one sum with those of data ranks, once.
TEST(TwoWays, CopiesAreReducedTogetherOnce) {
    for (const ScheduleKind kind : {ScheduleKind::chimera, ScheduleKind::dual_pipe})
        for (const std::uint32_t data : {1U, 3U})
            for (const bool eager : {false, true}) {
                Plan plan = two_ways(kind, 4, data);
                plan.strategy.overlap_grad_reduce = eager;
                plan.model.tied_embeddings = false;
                const StepProgram step = build(plan), one = build(plain(plan));
                const AxisSet group{Axis::data, Axis::opposite};
                for (std::uint32_t role = 0; role < 4; ++role) {
                    const auto of = [&](const StepProgram& any, std::uint32_t at, Keep keep) {
                        return memory(any, at).at_peak[static_cast<std::size_t>(keep)];
                    };
                    const std::uint64_t weights = of(one, role, Keep::weight) + of(one, 3 - role, Keep::weight);
                    EXPECT_EQ(of(step, role, Keep::weight), weights);
                    EXPECT_EQ(of(step, role, Keep::gradient),
                              of(one, role, Keep::gradient) + of(one, 3 - role, Keep::gradient));
                    EXPECT_EQ(reduced(step, role, group), weights) << "both in 16 bits";
                    EXPECT_EQ(step.mesh.group_size(group), 2 * data);
                }
            }
}

/// Eager: what the stage further in has formed leaves before the last backward of the other.
TEST(TwoWays, EagerReductionsRunBesideBackwards) {
    Plan plan = two_ways(ScheduleKind::chimera, 4);
    for (const bool eager : {false, true}) {
        plan.strategy.overlap_grad_reduce = eager;
        const StepProgram step = build(plan);
        const auto& ops = step.programs[1].ops;
        const auto named = [&](std::string_view name) {
            return [&step, name](const Op& op) { return step.names[op.label.name] == name; };
        };
        const auto first = std::ranges::find_if(ops, named("gradient reduction"));
        const auto last = std::find_if(ops.rbegin(), ops.rend(), named("backward"));
        EXPECT_EQ(first < last.base(), eager);
    }
}

/// Of shards, a part for each rank that holds the same layers.
TEST(TwoWays, StatesAreSharedWithTheStageOpposite) {
    Plan plan = two_ways(ScheduleKind::dual_pipe, 4, 2);
    plan.model.tied_embeddings = false;
    const auto states = [](const Plan& of, std::uint32_t role) {
        return memory(build(of), role).at_peak[static_cast<std::size_t>(Keep::optimizer)];
    };
    const std::uint64_t whole = states(plan, 1);
    plan.strategy.sharding = Sharding::zero1;
    EXPECT_NEAR(static_cast<double>(states(plan, 1)), static_cast<double>(whole) / 4, 8);
    for (const bool overlap : {false, true}) {
        plan.strategy.overlap_grad_reduce = plan.strategy.overlap_param_gather = overlap;
        EXPECT_EQ(verify(build(plan)), Problems{});
    }
}

/// Exchanges of experts hide in DualPipe's pairs.
TEST(TwoWays, PairsHideExchangesOfExperts) {
    for (const ScheduleKind kind : {ScheduleKind::dual_pipe, ScheduleKind::dual_pipe_v}) {
        Plan plan = moe_plan(1, 2, 4, 4);
        plan.strategy.schedule = kind;
        if (kind == ScheduleKind::dual_pipe_v) plan.strategy.virtual_pipeline = 2;
        plan.training.global_batch = plan.training.micro_batch * 8 * plan.strategy.data;
        const double flops = kernel_flops(build(plan));
        plan.strategy.overlap_expert_exchanges = true;
        validate(plan);
        const StepProgram step = build(plan);
        EXPECT_EQ(verify(step), Problems{});
        EXPECT_DOUBLE_EQ(kernel_flops(step), flops);
        for (const Program& program : step.programs)
            EXPECT_GT(
                std::ranges::count_if(
                    program.ops, [&](const Op& op) { return step.names[op.label.name] == "forward beside backward"; }),
                0);
    }
}

TEST(TwoWays, WhatDoesNotFitIsRefused) {
    const auto pointer = [](ScheduleKind kind, auto change) {
        Plan plan = two_ways(kind, 4, 2);
        change(plan);
        return refused_at(plan);
    };
    using enum ScheduleKind;
    for (const ScheduleKind kind : {chimera, dual_pipe}) {
        EXPECT_EQ(pointer(kind, [](Plan&) {}), "accepted");
        EXPECT_EQ(pointer(kind, [](Plan& p) { p.strategy.pipeline = 1; }), "/strategy/pipeline");
        EXPECT_EQ(pointer(kind, [](Plan& p) { p.strategy.pipeline = p.model.layers = 3; }), "/strategy/pipeline");
        EXPECT_EQ(pointer(kind, [](Plan& p) { p.strategy.virtual_pipeline = 2; }), "/strategy/virtual_pipeline");
        EXPECT_EQ(pointer(kind, [](Plan& p) { p.strategy.sharding = Sharding::zero2; }), "/strategy/sharding");
        EXPECT_EQ(pointer(kind, [](Plan& p) { p.strategy.sharding = Sharding::zero1; }), "accepted");
        EXPECT_EQ(pointer(kind, [](Plan& p) { p.training.global_batch -= 4; }), "/training/global_batch_size") << "odd";
        EXPECT_EQ(pointer(kind, [](Plan& p) { p.strategy.compression = Compression::onebit_adam; }),
                  "/strategy/compression");
        EXPECT_EQ(pointer(kind, [](Plan& p) { p.strategy.first_stage_layers = p.strategy.last_stage_layers = 1; }),
                  "accepted");
    }
    EXPECT_EQ(pointer(chimera, [](Plan& p) { p.training.global_batch -= 8; }), "/training/global_batch_size");
    EXPECT_EQ(pointer(chimera, [](Plan& p) { p.strategy.recompute = Recompute::full; }), "accepted");
    EXPECT_EQ(pointer(dual_pipe, [](Plan& p) { p.strategy.recompute = Recompute::full; }), "/strategy/recompute");
    EXPECT_EQ(pointer(dual_pipe, [](Plan& p) { p.training.global_batch = 24; }), "/training/global_batch_size");
    EXPECT_EQ(pointer(dual_pipe_v, [](Plan& p) { p.strategy.virtual_pipeline = 1; }), "/strategy/virtual_pipeline");
}

}  // namespace
}  // namespace orrery::strategies
