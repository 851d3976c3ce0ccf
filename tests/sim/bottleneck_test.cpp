#include "sim/bottleneck.hpp"

#include <gtest/gtest.h>

namespace orrery::sim {
namespace {

scenarios::Scenario of_two_stages() {
    scenarios::Scenario scenario;
    scenario.plan.strategy.pipeline = 2;
    return scenario;
}

/// Of two such stages. planned: seconds of the step as planned; 0: that is how it went.
std::string named(const Breakdown& stage, const scenarios::Scenario& scenario = of_two_stages(), double planned = 0) {
    return bottleneck(scenario, {stage, stage}, stage.total(), planned);
}

TEST(Bottleneck, SaysThatMatrixProductsTakeMore) {
    EXPECT_EQ(named({.gemm = 72, .attention = 10, .memory_bound = 9, .bubble = 9}), "attention 10%, after GEMM 72%");
}

TEST(Bottleneck, IsTheLargestPart) {
    EXPECT_EQ(named({.gemm = 30, .bubble = 70}), "pipeline bubble 70%");
    EXPECT_EQ(named({.gemm = 96, .memory_bound = 4}), "matrix products 96%");
}

TEST(Bottleneck, IsNoPipelinesBubbleWhereThereIsNone) {
    scenarios::Scenario scenario;
    EXPECT_EQ(named({.gemm = 30, .bubble = 70}, scenario), "waiting for slower ranks 70%");
}

/// What tensor and context ranks exchange is one part: the ranks that there are name it.
TEST(Bottleneck, IsOfContextRanksWhereThereAreNoOthers) {
    scenarios::Scenario scenario;
    const Breakdown stage{.gemm = 60, .tensor_comm = 40};
    EXPECT_EQ(named(stage, scenario), "tensor-parallel communication 40%, after GEMM 60%");
    scenario.plan.strategy.context = 4;
    EXPECT_EQ(named(stage, scenario), "context-parallel communication 40%, after GEMM 60%");
    scenario.plan.strategy.tensor = 2;
    EXPECT_EQ(named(stage, scenario), "tensor- and context-parallel communication 40%, after GEMM 60%");
}

TEST(Bottleneck, NamesAStragglerFirst) {
    const Breakdown stage{.gemm = 60, .memory_bound = 15, .bubble = 25};
    scenarios::Scenario scenario = of_two_stages();
    scenario.perturbations.stragglers = {scenarios::parse_straggler("rank 70 x 1.2")};
    EXPECT_EQ(named(stage, scenario, 80), "straggler rank 70 x 1.2 20%, then pipeline bubble 25%, after GEMM 60%");
    scenario.perturbations.stragglers.push_back(scenarios::parse_straggler("ranks 8-15 x 1.5"));
    EXPECT_TRUE(named(stage, scenario, 80).starts_with("straggler ranks 8-15 x 1.5 and 1 more 20%, then"))
        << named(stage, scenario, 80);
    scenario.perturbations.jitter = 0.1;
    EXPECT_TRUE(named(stage, scenario, 80).starts_with("what does not go to plan 20%, then"))
        << named(stage, scenario, 80);
    EXPECT_EQ(named(stage, scenario, 99), "pipeline bubble 25%, after GEMM 60%");
}

}  // namespace
}  // namespace orrery::sim
