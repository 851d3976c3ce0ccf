// Between which seconds a measured step may lie.
#include "sim/interval.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "base/normal.hpp"
#include "sim/breakdown.hpp"
#include "sim/run_step.hpp"
#include "tests/sim/bench.hpp"

namespace orrery::sim {
namespace {

/// A second of one category, on one node, by software whose own code is all there is.
Interval of(double Breakdown::*category, double held_out, bool several_nodes = false,
            hardware::Software software = hardware::Software::orrery, double derived = 0, bool by_scripts = false) {
    calibrate::Profile profile;
    for (const char* suite : {"gemm-bf16", "attention", "pointwise", "collective"})
        profile.held_out[suite] = {.points = 100, .mean = held_out, .median = held_out, .p90 = held_out};
    Breakdown stage;
    stage.*category = 1;
    const Breakdown stages[] = {stage};
    return step_interval(1, stages,
                         {.profile = profile,
                          .compute = kernels::Dtype::bf16,
                          .software = software,
                          .by_scripts = by_scripts,
                          .several_nodes = several_nodes,
                          .derived = derived});
}

TEST(Interval, OfOneKindOfKernelIsItsHeldOutError) {
    // A mean of 4% is a standard deviation of 5%.
    const Interval interval = of(&Breakdown::gemm, 0.04);
    const double width = normal_quantile(0.9) * std::sqrt(std::numbers::pi / 2) * 0.04;
    EXPECT_NEAR(interval.low, std::exp(-width), 1e-12);
    EXPECT_NEAR(interval.high, std::exp(width), 1e-12);
}

TEST(Interval, WidensWithWhatIsLessKnown) {
    const auto width = [](const Interval& i) { return i.high / i.low; };
    const double kernels = width(of(&Breakdown::gemm, 0.04));
    EXPECT_GT(width(of(&Breakdown::gemm, 0.08)), kernels);
    EXPECT_GT(width(of(&Breakdown::launch, 0.04)), kernels) << "host time is an estimate";
    EXPECT_NEAR(std::log(width(of(&Breakdown::offload, 0.04))), 2 * normal_quantile(0.9) * 0.1534, 0.001)
        << "what hosts copy and update";
    EXPECT_GT(width(of(&Breakdown::data_comm, 0.04, true)), width(of(&Breakdown::data_comm, 0.04)));
    EXPECT_GT(width(of(&Breakdown::gemm, 0.04, false, hardware::Software::orrery, 0.5)), kernels);
    const Interval framework = of(&Breakdown::gemm, 0.04, false, hardware::Software::megatron_lm);
    EXPECT_GT(width(framework), kernels);
    EXPECT_GT(framework.high - 1, 1 - framework.low) << "what no program holds only adds";
    const Interval script = of(&Breakdown::gemm, 0.04, false, hardware::Software::pytorch, 0, true);
    EXPECT_LT(script.low, framework.low);
    EXPECT_GT(script.high - framework.high, framework.low - script.low) << "and scripts add more";
}

TEST(Interval, OverlapsWhereEitherMayBeTheShorter) {
    const Interval a{1, 2}, b{1.5, 3}, c{2.5, 3};
    EXPECT_TRUE(a.overlaps(b));
    EXPECT_TRUE(b.overlaps(a));
    EXPECT_TRUE(b.overlaps(c));
    EXPECT_FALSE(a.overlaps(c));
}

TEST(Interval, IsPartOfEveryPrediction) {
    const Prediction p = quick(small_scenario());
    EXPECT_LT(p.step_interval.low, p.step_time_s);
    EXPECT_GT(p.step_interval.low, 0.5 * p.step_time_s);
    EXPECT_GT(p.step_interval.high, p.step_time_s);
    EXPECT_LT(p.step_interval.high, 2 * p.step_time_s);
}

/// Compute-bound kernels of n ranks take as long as on the slowest of n boards; those of one as in the tables.
TEST(Boards, TheSlowestOfAllHoldsTheStepUp) {
    const auto gemm = [](double spread) {
        const calibrate::Predictor& shipped = profiles().find("a100");
        calibrate::Profile profile = shipped.profile();
        profile.constants["board_spread"].value = spread;
        const calibrate::Predictor predictor(profile);
        const scenarios::Scenario scenario = small_scenario();
        const topology::Cluster cluster = topology::build(scenario.cluster);
        const RanStep ran(scenario.plan, cluster, Profiles(predictor));
        return breakdown(ran.program, ran.costs[0], ran.slowest(0), ran.replayed.end);
    };
    const Breakdown even = gemm(0), uneven = gemm(0.015);
    const double slowest = 1 + 0.015 * expected_maximum(16);
    EXPECT_GT(uneven.gemm / even.gemm, 1 + 0.8 * (slowest - 1)) << "the gap between kernels stays";
    EXPECT_LE(uneven.gemm / even.gemm, slowest);
    EXPECT_NEAR(uneven.memory_bound, even.memory_bound, 1e-9 * even.memory_bound);
}

}  // namespace
}  // namespace orrery::sim
