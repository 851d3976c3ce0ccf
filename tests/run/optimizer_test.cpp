// The optimizer's operations do what the program says, and nothing beside it.
#include <gtest/gtest.h>

#include <cmath>
#include <stdexcept>

#include "base/error.hpp"
#include "tests/run/ranks.hpp"
#include "tests/run/small_models.hpp"

namespace orrery::run {
namespace {

strategies::StateDetail& detail(strategies::StepProgram& step, const char* name) {
    for (strategies::Program& program : step.programs)
        for (const strategies::Op& op : program.ops)
            if (step.names[op.label.name] == name) return program.state_details[op.state];
    throw std::logic_error("no such operation");
}

RunSettings still() {
    RunSettings settings = fast();
    settings.adam.rate = 0;
    return settings;
}

TEST(OptimizerOfAProgram, ScalesAsItSays) {
    const strategies::Plan plan = plan_of(small_gpt());
    strategies::StepProgram program = program_of(plan);
    const Trained unmoved = run_program(plan, program, still(), 2);
    detail(program, "gradient scaling").settings.scale_factor = 0;
    const Trained scaled = run_program(plan, program, fast(), 2);
    EXPECT_EQ(scaled.masters, unmoved.masters) << "gradients of 0 move nothing";
}

TEST(OptimizerOfAProgram, ClipsAsItSays) {
    const strategies::Plan plan = plan_of(small_gpt());
    strategies::StepProgram program = program_of(plan);
    const auto norm = [&](const Trained& trained) {
        double sum = 0;
        for (const auto& [name, values] : trained.gradients)
            for (const auto& [element, value] : values) sum += value * value;
        return std::sqrt(sum);
    };
    EXPECT_NEAR(norm(run_program(plan, program, fast(), 1)), plan.training.grad_clip, 1e-5 * plan.training.grad_clip);
    detail(program, "clip").most_norm = plan.training.grad_clip / 4;
    EXPECT_NEAR(norm(run_program(plan, program, fast(), 1)), plan.training.grad_clip / 4,
                1e-5 * plan.training.grad_clip);
}

/// In one pass over gradients what else takes three.
TEST(OptimizerOfAProgram, ScalesAndClipsInsideOurOwnAdam) {
    strategies::Plan plan = plan_of(small_gpt());
    const Trained in_passes = run_program(plan, program_of(plan), fast(), 3);
    plan.training.software = hardware::Software::orrery;
    strategies::StepProgram program = program_of(plan);
    EXPECT_THROW(detail(program, "clip"), std::exception);
    EXPECT_THROW(detail(program, "gradient scaling"), std::exception);
    const Trained at_once = run_program(plan, program, fast(), 3);
    for (const auto& [name, values] : in_passes.masters)
        for (const auto& [element, value] : values)
            EXPECT_NEAR(at_once.masters.at(name).at(element), value, 1e-5) << name << ' ' << element;
    detail(program, "adam").settings.scale_factor = 0;
    EXPECT_EQ(run_program(plan, program, fast(), 2).masters, run_program(plan, program, still(), 2).masters);
}

TEST(OptimizerOfAProgram, UpdatesWhatItTakes) {
    const strategies::Plan plan = plan_of(small_gpt());
    strategies::StepProgram program = program_of(plan);
    strategies::StateDetail& adam = detail(program, "adam");
    const Trained whole = run_program(plan, program, fast(), 1);
    // The first moment stands where the gradient did: it is zero.
    adam.operands.front() = adam.operands[2];
    const Trained none = run_program(plan, program, fast(), 1), unmoved = run_program(plan, program, still(), 1);
    EXPECT_EQ(none.masters, unmoved.masters);
    EXPECT_NE(whole.masters, unmoved.masters);
}

TEST(OptimizerOfAProgram, IsRefusedWithoutOperands) {
    const strategies::Plan plan = plan_of(small_gpt());
    strategies::StepProgram program = program_of(plan);
    detail(program, "adam").operands.clear();
    EXPECT_THROW((void)run_program(plan, program, fast(), 1), Error);
}

strategies::Plan in_shares() {
    strategies::Plan plan = plan_of(small_gpt());
    plan.strategy.data = 2;
    plan.strategy.sharding = strategies::Sharding::zero3;
    return plan;
}

TEST(SharesOfAProgram, AreSummedAsItSays) {
    const strategies::Plan plan = in_shares();
    strategies::StepProgram program = program_of(plan);
    const Trained summed = run_program(plan, program, fast(), 1);
    detail(program, "gradient reduction").settings.accumulate = false;
    const Trained last = run_program(plan, program, fast(), 1);
    EXPECT_NE(last.gradients, summed.gradients) << "the last micro-batch takes the place of the others";
}

TEST(SharesOfAProgram, AreReadWhereTheyWereGathered) {
    const strategies::Plan plan = in_shares();
    strategies::StepProgram program = program_of(plan);
    strategies::Program& stage = program.programs.front();
    for (strategies::Op& op : stage.ops)
        if (std::holds_alternative<strategies::Call>(op.what)) {  // no call reads anything
            op.operands += op.reads;
            op.reads = 0;
        }
    EXPECT_THROW((void)run_program(plan, program, fast(), 1), std::logic_error);
}

}  // namespace
}  // namespace orrery::run
