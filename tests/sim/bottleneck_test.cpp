#include "sim/bottleneck.hpp"

#include <gtest/gtest.h>

namespace orrery::sim {
namespace {

Prediction step_of(const Breakdown& stage) {
    Prediction p;
    p.stages = {stage, stage};
    p.step_time_s = stage.total();
    return p;
}

TEST(Bottleneck, SaysThatMatrixProductsTakeMore) {
    const Prediction p = step_of({.gemm = 72, .attention = 10, .memory_bound = 9, .bubble = 9});
    EXPECT_EQ(bottleneck({}, p), "attention 10%, after GEMM 72%");
}

TEST(Bottleneck, IsTheLargestPart) {
    EXPECT_EQ(bottleneck({}, step_of({.gemm = 30, .bubble = 70})), "pipeline bubble 70%");
    EXPECT_EQ(bottleneck({}, step_of({.gemm = 96, .memory_bound = 4})), "matrix products 96%");
}

TEST(Bottleneck, NamesAStragglerFirst) {
    Prediction p = step_of({.gemm = 60, .memory_bound = 15, .bubble = 25});
    p.planned_step_time_s = 80;
    scenarios::Scenario scenario;
    scenario.perturbations.stragglers = {scenarios::parse_straggler("rank 70 x 1.2")};
    EXPECT_EQ(bottleneck(scenario, p), "straggler rank 70 x 1.2 20%, then pipeline bubble 25%, after GEMM 60%");
    scenario.perturbations.stragglers.push_back(scenarios::parse_straggler("ranks 8-15 x 1.5"));
    EXPECT_TRUE(bottleneck(scenario, p).starts_with("straggler ranks 8-15 x 1.5 and 1 more 20%, then"))
        << bottleneck(scenario, p);
    scenario.perturbations.jitter = 0.1;
    EXPECT_TRUE(bottleneck(scenario, p).starts_with("what does not go to plan 20%, then")) << bottleneck(scenario, p);
    p.planned_step_time_s = 99;
    EXPECT_EQ(bottleneck(scenario, p), "pipeline bubble 25%, after GEMM 60%");
}

}  // namespace
}  // namespace orrery::sim
