// One rank of a plan alone: it holds what it holds among the others, computes finite numbers, and waits for nobody.
#include "run/lone_rank.hpp"

#include <gtest/gtest.h>

#include "run/measure.hpp"
#include "strategies/build.hpp"
#include "tests/run/ranks.hpp"

namespace orrery::run {
namespace {

RunPlan divided(std::uint32_t tensor, std::uint32_t pipeline, std::uint32_t data) {
    RunPlan plan{"divided", small_plan(4, 8), {}};
    plan.settings.steps = 3;
    plan.settings.warmup = 1;
    plan.plan.strategy.tensor = tensor;
    plan.plan.strategy.pipeline = pipeline;
    plan.plan.strategy.data = data;
    plan.plan.strategy.sequence_parallel = tensor > 1;
    return plan;
}

TEST(LoneRank, HoldsWhatItHoldsAmongTheOthers) {
    for (const auto& [tensor, pipeline, data, dtype] : {std::tuple(2U, 1U, 1U, kernels::Dtype::fp32),
                                                        {1U, 2U, 2U, kernels::Dtype::fp32},
                                                        {2U, 2U, 2U, kernels::Dtype::fp32},
                                                        {2U, 2U, 1U, kernels::Dtype::bf16}}) {
        RunPlan plan = divided(tensor, pipeline, data);
        plan.plan.training.precision.compute = dtype;
        const Trained together = train(plan.plan, plan.settings, 1);
        const auto step = strategies::unrolled(strategies::build(plan.plan));
        for (std::uint32_t rank = 0; rank < plan.plan.ranks(); ++rank) {
            plan.settings.only_rank = rank;
            LoneRank world(rank, plan.plan.ranks());
            const auto device = kernels::open_device("cpu");
            const MeasuredRun run = measure(*device, &world, plan);
            ASSERT_TRUE(run.alone);
            ASSERT_EQ(run.ranks.size(), 1U);
            EXPECT_EQ(run.ranks[0].rank, rank);
            EXPECT_EQ(run.ranks[0].ops.size(), step.programs[step.role[rank]].ops.size());
            EXPECT_EQ(run.ranks[0].memory.total(), together.memory[rank].total()) << "rank " << rank;
            EXPECT_GT(run.step_seconds(), 0);
            EXPECT_FALSE(run.steps.back().loss) << "its numbers mean nothing";
        }
    }
}

TEST(LoneRank, TravelsWithThePlan) {
    RunPlan plan = divided(2, 2, 2);
    EXPECT_FALSE(plan_from_json(to_json(plan), "plan.json").settings.only_rank);
    plan.settings.only_rank = 5;
    EXPECT_EQ(plan_from_json(to_json(plan), "plan.json").settings.only_rank, 5U);
}

}  // namespace
}  // namespace orrery::run
