// Names are for people: a program whose operations are all called otherwise trains the same.
#include <gtest/gtest.h>

#include "tests/run/ranks.hpp"
#include "tests/run/small_models.hpp"

namespace orrery::run {
namespace {

void expect_names_do_not_matter(const strategies::Plan& plan) {
    strategies::StepProgram program = program_of(plan);
    const Trained before = run_program(plan, program, fast(), 2);
    for (std::size_t i = 0; i < program.names.size(); ++i) program.names[i] = "operation " + std::to_string(i);
    const Trained renamed = run_program(plan, program, fast(), 2);
    EXPECT_EQ(renamed.losses, before.losses);
    EXPECT_EQ(renamed.masters, before.masters);
}

TEST(Names, MeanNothingToARun) {
    strategies::Plan plan = plan_of(small_llama());
    plan.strategy.tensor = 2;
    plan.strategy.data = 2;
    plan.strategy.sequence_parallel = true;
    plan.strategy.sharding = strategies::Sharding::zero1;
    plan.strategy.overlap_param_gather = true;
    plan.strategy.overlap_grad_reduce = true;
    expect_names_do_not_matter(plan);
}

TEST(Names, MeanNothingWhereTheBackwardIsInTwoParts) {
    strategies::Plan plan = plan_of(small_gpt());
    plan.strategy.pipeline = 2;
    plan.strategy.schedule = strategies::ScheduleKind::zb_h1;
    expect_names_do_not_matter(plan);
}

TEST(Names, MeanNothingWhereRanksKeepShares) {
    strategies::Plan plan = plan_of(small_gpt());
    plan.strategy.data = 2;
    plan.strategy.sharding = strategies::Sharding::zero3;
    expect_names_do_not_matter(plan);
}

TEST(Names, MeanNothingBetweenStagesWithTiedWords) {
    strategies::Plan plan = plan_of(small_gpt());
    plan.strategy.pipeline = 2;
    plan.training.precision.compute = kernels::Dtype::bf16;
    expect_names_do_not_matter(plan);
}

}  // namespace
}  // namespace orrery::run
