// Where a layer's host waits for what its routers counted: two calls with the wait between them, and nothing else.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "strategies/build.hpp"
#include "strategies/hazards.hpp"
#include "strategies/memory.hpp"
#include "strategies/partition/experts.hpp"
#include "tests/strategies/tiny_plan.hpp"

namespace orrery::strategies {
namespace {

/// The same plan with a runtime that is given the counts.
Plan without_wait(Plan plan) {
    plan.training.software = hardware::Software::tensorflow;
    return plan;
}

std::ptrdiff_t waits(const StepProgram& step, const Program& program, Phase phase) {
    return std::ranges::count_if(program.ops, [&](const Op& op) {
        return std::holds_alternative<HostSync>(op.what) && op.label.phase == phase &&
               step.names[op.label.name] == "counts on host";
    });
}

std::vector<std::string> works(const StepProgram& step, std::uint32_t role) {
    const StepProgram all = unrolled(step);
    std::vector<std::string> names;
    for (const Op& op : all.programs[role].ops)
        if (step.names[op.label.name] != "counts on host") names.push_back(step.names[op.label.name]);
    return names;
}

TEST(HostWait, IsWhereAFrameworkReadsTheCounts) {
    Training training;
    EXPECT_TRUE(host_reads_counts(training));
    training.software = hardware::Software::transformer_engine;
    EXPECT_TRUE(host_reads_counts(training));
    training.cuda_graph = true;
    EXPECT_FALSE(host_reads_counts(training)) << "launches are recorded";
    training.cuda_graph_scope = CudaGraphScope::outside_experts;
    EXPECT_TRUE(host_reads_counts(training));
    training.pad_to_capacity = true;
    EXPECT_FALSE(host_reads_counts(training)) << "every expert gets as many";
    for (const hardware::Software other : {hardware::Software::orrery, hardware::Software::tensorflow}) {
        training = {};
        training.software = other;
        EXPECT_FALSE(host_reads_counts(training));
    }
}

/// One for each layer and micro-batch, and as many where a backward runs the layer again.
TEST(HostWait, StandsInEachForwardOfALayer) {
    for (const Recompute recompute : {Recompute::none, Recompute::selective, Recompute::full})
        for (const Dispatcher dispatcher : {Dispatcher::alltoall, Dispatcher::allgather, Dispatcher::flex}) {
            Plan plan = moe_plan(1, 2, 4, 4);
            plan.strategy.recompute = recompute;
            plan.strategy.dispatcher = dispatcher;
            const StepProgram step = build(plan);
            EXPECT_EQ(verify(step), std::vector<std::string>{});
            const std::ptrdiff_t layers = 2 * plan.micro_batches();
            for (const Program& program : step.programs) {
                EXPECT_EQ(waits(step, program, Phase::forward), layers);
                EXPECT_EQ(waits(step, program, Phase::backward), recompute == Recompute::full ? layers : 0);
            }
        }
}

/// The host waits for the router, and what takes the counts comes behind it.
TEST(HostWait, StandsBetweenRouterAndDispatch) {
    const StepProgram step = build(moe_plan());
    const Program& program = step.programs[0];
    const Hazards hazards(program);
    for (std::uint32_t i = 1; i + 1 < program.ops.size(); ++i) {
        if (step.names[program.ops[i].label.name] != "counts on host") continue;
        EXPECT_GT(std::ranges::count(hazards.of(i), i - 1), 0);
        const auto name = [&](const Op& op) { return step.names[op.label.name]; };
        const Program& before = step.blocks[std::get<Call>(program.ops[i - 1].what).block];
        const Program& behind = step.blocks[std::get<Call>(program.ops[i + 1].what).block];
        EXPECT_EQ(name(before.ops.back()), "gate");
        EXPECT_EQ(name(behind.ops.front()), "permute");
    }
}

/// The same work in the same order with the same memory, but for a backward whose first part needs less than the rest.
TEST(HostWait, ChangesNeitherWorkNorMemory) {
    for (const Recompute recompute : {Recompute::none, Recompute::selective, Recompute::full})
        for (const std::uint32_t tensor : {1U, 2U}) {
            Plan plan = moe_plan(tensor, 2, 4, 4);
            plan.strategy.recompute = recompute;
            const StepProgram with = build(plan), without = build(without_wait(plan));
            ASSERT_EQ(with.programs.size(), without.programs.size());
            for (std::uint32_t role = 0; role < with.programs.size(); ++role) {
                EXPECT_EQ(works(with, role), works(without, role));
                EXPECT_EQ(memory(with, role).peak, memory(without, role).peak);
            }
        }
}

/// Backwards in two parts run nothing again.
TEST(HostWait, StandsInForwardsBesideSplitBackwards) {
    Plan plan = moe_plan(1, 2, 4, 4);
    plan.strategy.schedule = ScheduleKind::zb_h1;
    const StepProgram step = build(plan);
    EXPECT_EQ(verify(step), std::vector<std::string>{});
    for (const Program& program : step.programs) {
        EXPECT_EQ(waits(step, program, Phase::forward), 2 * plan.micro_batches());
        EXPECT_EQ(waits(step, program, Phase::backward), 0);
    }
}

/// One kernel for each of the parameters that a rank updates, and the host waits for their sum.
TEST(Zeros, AreCountedParameterByParameter) {
    for (const std::uint32_t data : {1U, 4U}) {
        Plan plan = tiny_plan(1, 1, data);
        plan.training.log_num_zeros_in_grad = true;
        plan.strategy.sharding = data > 1 ? Sharding::zero1 : Sharding::none;
        const StepProgram step = build(plan);
        EXPECT_EQ(verify(step), std::vector<std::string>{});
        const auto number = [&](std::string_view name) {
            return std::ranges::count(step.programs[0].ops, name,
                                      [&](const Op& op) -> std::string_view { return step.names[op.label.name]; });
        };
        // Words and positions, 12 of each of the four layers, the last norm's two; logits share the words.
        const std::ptrdiff_t parameters = 2 + 4 * 12 + 2, held = (parameters + data - 1) / data;
        EXPECT_EQ(number("count zeros"), held);
        EXPECT_EQ(number("zeros in gradients on host"), 1);
        plan.training.log_num_zeros_in_grad = false;
        EXPECT_EQ(build(plan).programs[0].ops.size(), step.programs[0].ops.size() - static_cast<std::size_t>(held) - 2);
    }
}

}  // namespace
}  // namespace orrery::strategies
