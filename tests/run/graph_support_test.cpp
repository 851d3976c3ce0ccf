// Which steps a GPU records as one graph: the others are refused by key.
#include <gtest/gtest.h>

#include "run/support.hpp"
#include "strategies/build.hpp"
#include "tests/run/gpu_on_paper.hpp"
#include "tests/run/refusal.hpp"
#include "tests/run/small_models.hpp"

namespace orrery::run {
namespace {

using strategies::Plan;

Plan recorded() {
    Plan plan = plan_of(small_gpt());
    plan.model.hidden = 32;
    plan.model.head_dim = 8;
    plan.training.cuda_graph = true;
    return plan;
}

TEST(GraphSupport, TakesWholeStepsOfEveryMesh) {
    Plan plan = recorded();
    EXPECT_EQ(refusal(plan), "");
    plan.strategy.tensor = plan.strategy.pipeline = plan.strategy.data = 2;
    EXPECT_EQ(refusal(plan), "");
}

TEST(GraphSupport, RefusesPartsOfSteps) {
    Plan plan = recorded();
    for (const auto scope : {strategies::CudaGraphScope::outside_experts, strategies::CudaGraphScope::routers}) {
        plan.training.cuda_graph_scope = scope;
        EXPECT_EQ(refusal(plan), "/training/cuda_graph_scope");
    }
}

TEST(GraphSupport, RefusesStepsThatRunIntoEachOther) {
    Plan plan = recorded();
    plan.strategy.schedule = strategies::ScheduleKind::pipedream_2bw;
    EXPECT_EQ(refusal(plan), "/training/cuda_graph");
}

TEST(GraphSupport, GraphsAreAGpus) {
    const Plan plan = recorded();
    const strategies::StepProgram step = strategies::build(plan);
    GpuOnPaper gpu;
    const auto cpu = kernels::open_device("cpu");
    EXPECT_EQ(refusal([&] { require_runs_on(gpu, plan, step); }), "");
    EXPECT_EQ(refusal([&] { require_runs_on(*cpu, plan, step); }), "/training/cuda_graph");
}

}  // namespace
}  // namespace orrery::run
