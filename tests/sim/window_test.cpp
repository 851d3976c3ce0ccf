// A window of several steps: the time of one is its share, and where nothing overlaps the boundary the same as alone.
#include "strategies/window.hpp"

#include <gtest/gtest.h>

#include "base/error.hpp"
#include "sim/breakdown.hpp"
#include "sim/run_step.hpp"
#include "strategies/build.hpp"
#include "strategies/memory.hpp"
#include "tests/sim/bench.hpp"

namespace orrery::sim {
namespace {

using strategies::StepsMeet;

/// A scenario's step, once or as a window.
class Windowed {
public:
    explicit Windowed(const std::string& patch)
        : scenario_(small_scenario(patch)), cluster_(topology::build(scenario_.cluster)) {}

    [[nodiscard]] RanStep run(std::uint32_t steps, StepsMeet meet) const {
        auto program = strategies::window(strategies::build(scenario_.plan), steps, meet);
        EXPECT_EQ(strategies::verify(program), std::vector<std::string>{});
        return {std::move(program), scenario_.plan, cluster_, profiles().find(scenario_.profile)};
    }
    [[nodiscard]] double seconds(std::uint32_t steps, StepsMeet meet) const { return run(steps, meet).seconds(); }

private:
    scenarios::Scenario scenario_;
    topology::Cluster cluster_;
};

constexpr std::array one_stage{
    R"({"strategy": {"pipeline": 1}})", R"({"strategy": {"pipeline": 1, "sharding": "zero1"}})",
    R"({"strategy": {"pipeline": 1, "sharding": "zero1", "overlap_grad_reduce": true,
                                   "overlap_param_gather": true}})",
    R"({"strategy": {"pipeline": 1, "recompute": "full"}, "training": {"cuda_graph": true}})"};

/// One stage whose ranks are alike, and a host that waits: nothing of a step reaches into the next.
TEST(Window, JoinedStepsTakeTheTimeOfOne) {
    for (const char* patch : one_stage) {
        SCOPED_TRACE(patch);
        const Windowed windowed(patch);
        const double one = windowed.seconds(1, StepsMeet::joined);
        for (const std::uint32_t steps : {2U, 5U})
            EXPECT_NEAR(windowed.seconds(steps, StepsMeet::joined), one, 1e-9 * one) << steps;
    }
    const Windowed windowed(one_stage.front());
    EXPECT_LT(windowed.seconds(5, StepsMeet::open), windowed.seconds(1, StepsMeet::open) * (1 - 1e-6))
        << "a host that runs ahead";
}

/// Stages that are done begin the next step while others still drain the pipeline, hosts run ahead: never slower, and
/// never faster than the lane that is busiest.
TEST(Window, OpenStepsOverlapAndNoMore) {
    for (const char* patch : {"{}", R"({"strategy": {"schedule": "gpipe"}})", R"({"strategy": {"schedule": "zb-h1"}})",
                              R"({"strategy": {"virtual_pipeline": 2, "overlap_p2p": true}})",
                              R"({"strategy": {"sharding": "zero1", "overlap_grad_reduce": true,
                                  "overlap_param_gather": true}})"}) {
        SCOPED_TRACE(patch);
        const Windowed windowed(patch);
        const RanStep one = windowed.run(1, StepsMeet::open), four = windowed.run(4, StepsMeet::open);
        EXPECT_LE(four.seconds(), one.seconds() * (1 + 1e-9));
        for (std::uint32_t stage = 0; stage < 2; ++stage) {
            const auto of = [&](const RanStep& ran) {
                const RankClass& rank = ran.slowest(stage);
                return breakdown(ran.program, ran.costs.of_rank(rank.representative), rank, ran.replayed.end);
            };
            const Breakdown alone = of(one), each = of(four);
            EXPECT_NEAR(each.total(), four.seconds(), 1e-9 * four.seconds());
            EXPECT_NEAR(each.gemm, alone.gemm, 1e-9 * alone.gemm) << "work of one step";
            EXPECT_GE(four.seconds(), alone.busy() * (1 - 1e-9));
        }
    }
}

TEST(Window, MemoryIsNotMultiplied) {
    const strategies::StepProgram step = strategies::build(small_scenario().plan);
    const strategies::StepProgram three = strategies::window(step, 3, StepsMeet::joined);
    EXPECT_EQ(three.steps, 3U);
    for (std::uint32_t role = 0; role < 2; ++role) {
        EXPECT_EQ(strategies::memory(three, role).peak, strategies::memory(step, role).peak);
        EXPECT_EQ(strategies::unrolled_ops(three, role), 3 * (strategies::unrolled_ops(step, role) + 1));
    }
    EXPECT_THROW((void)strategies::window(three, 2, StepsMeet::joined), std::logic_error);
}

TEST(Window, DoesNotStandBesideOtherJobs) {
    const scenarios::Scenario scenario = small_scenario(R"({"cluster": {"nodes": 4}})");
    const topology::Cluster cluster = topology::build(scenario.cluster);
    scenarios::OtherJob other;
    other.plan = scenario.plan;
    const std::vector others{other};
    auto program = strategies::window(strategies::build(scenario.plan), 2, StepsMeet::joined);
    EXPECT_THROW(
        RanStep(std::move(program), scenario.plan, cluster, profiles().find(scenario.profile), {.others = others}),
        Error);
}

}  // namespace
}  // namespace orrery::sim
