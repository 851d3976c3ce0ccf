// A micro-batch's sizes are read by the host: where it waits, and what it hands out behind that.
#include "strategies/batch_input.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "strategies/build.hpp"
#include "strategies/hazards.hpp"
#include "strategies/memory.hpp"
#include "tests/strategies/tiny_plan.hpp"

namespace orrery::strategies {
namespace {

Plan reading(std::uint32_t tensor, std::uint32_t pipeline = 1) {
    Plan plan = tiny_plan(tensor, pipeline, 2);
    plan.training.broadcast_data = true;
    return plan;
}

std::uint32_t number_of(const StepProgram& step, const Program& program, std::string_view name) {
    return static_cast<std::uint32_t>(
        std::ranges::count(program.ops, name, [&](const Op& op) { return step.names[op.label.name]; }));
}

TEST(BatchInput, IsThereOnlyWhereItIsAskedFor) {
    Plan plan = tiny_plan();
    const StepProgram without = build(plan);
    EXPECT_EQ(number_of(without, without.programs[0], "batch sizes on host"), 0U);
}

/// Every stage asks, for every micro-batch; a lone tensor rank tells nobody.
TEST(BatchInput, StandsBeforeEachForwardOfEachStage) {
    for (const std::uint32_t tensor : {1U, 2U})
        for (const std::uint32_t pipeline : {1U, 2U}) {
            const Plan plan = reading(tensor, pipeline);
            const StepProgram step = build(plan);
            EXPECT_EQ(verify(step), std::vector<std::string>{});
            for (const Program& program : step.programs) {
                EXPECT_EQ(number_of(step, program, "batch sizes on host"), plan.micro_batches());
                EXPECT_EQ(number_of(step, program, "broadcast tokens"), tensor == 1 ? 0 : plan.micro_batches());
                EXPECT_EQ(number_of(step, program, "attention mask"), plan.micro_batches());
            }
        }
}

/// The last stage's alone, averaged where there are replicas.
TEST(BatchInput, LossesAreAveragedBehindTheLastLayer) {
    for (const std::uint32_t data : {1U, 2U}) {
        Plan plan = tiny_plan(1, 2, data);
        plan.training.broadcast_data = true;
        const StepProgram step = build(plan);
        EXPECT_EQ(number_of(step, step.programs[0], "masked losses"), 0U);
        EXPECT_EQ(number_of(step, step.programs[1], "masked losses"), plan.micro_batches());
        EXPECT_EQ(number_of(step, step.programs[1], "average loss"), data == 1 ? 0 : plan.micro_batches());
    }
}

/// The host waits for the sizes, which come behind all that the compute lane did before.
TEST(BatchInput, TheHostWaitsForWhatWasToldLast) {
    for (const std::uint32_t tensor : {1U, 2U}) {
        const StepProgram step = build(reading(tensor));
        const Program& program = step.programs[0];
        const Hazards hazards(program);
        for (std::uint32_t i = 0; i < program.ops.size(); ++i) {
            if (!std::holds_alternative<HostSync>(program.ops[i].what)) continue;
            if (step.names[program.ops[i].label.name] != "batch sizes on host") continue;
            ASSERT_GT(i, 0U);
            EXPECT_GT(std::ranges::count(hazards.of(i), i - 1), 0);
            EXPECT_EQ(step.names[program.ops[i - 1].label.name], tensor == 1 ? "batch sizes" : "broadcast batch sizes");
        }
    }
}

/// Parameters, FLOPs and memory are what they were.
TEST(BatchInput, ChangesNothingElse) {
    const StepProgram with = build(reading(2, 2));
    Plan plan = reading(2, 2);
    plan.training.broadcast_data = false;
    const StepProgram without = build(plan);
    ASSERT_EQ(with.programs.size(), without.programs.size());
    for (std::uint32_t p = 0; p < with.programs.size(); ++p) {
        std::vector<std::string> left, all;
        for (const Op& op : with.programs[p].ops)
            if (op.label.phase != Phase::forward || std::holds_alternative<Call>(op.what))
                left.push_back(with.names[op.label.name]);
        for (const Op& op : without.programs[p].ops)
            if (op.label.phase != Phase::forward || std::holds_alternative<Call>(op.what))
                all.push_back(without.names[op.label.name]);
        EXPECT_EQ(left, all);
        EXPECT_EQ(memory(with, p).peak, memory(without, p).peak);
    }
}

}  // namespace
}  // namespace orrery::strategies
