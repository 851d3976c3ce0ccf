// Kernels of a step that caches cannot hold take their operands from memory.
#include "sim/caches.hpp"

#include <gtest/gtest.h>

#include "strategies/build.hpp"
#include "strategies/memory.hpp"
#include "tests/sim/bench.hpp"
#include "tests/strategies/tiny_plan.hpp"

namespace orrery::sim {
namespace {

/// 1 ms in the middle, 20% more from memory.
constexpr calibrate::Estimate estimate{.seconds = 1e-3, .uncertainty = 0.3, .caches = 0.2};

class CachesTest : public testing::Test {
protected:
    [[nodiscard]] double seconds(double cache_bytes, std::uint32_t ranks = 1) const {
        calibrate::Profile profile;
        profile.constants = profiles().find("a100").profile().constants;
        if (cache_bytes > 0) profile.constants["cache_bytes"] = {cache_bytes, "B", "test"};
        return Caches(step_, calibrate::Predictor(profile), ranks).seconds(estimate);
    }

    strategies::StepProgram step_ = strategies::build(strategies::tiny_plan());
    double held_ = static_cast<double>(strategies::memory(step_, 0).peak);
};

TEST_F(CachesTest, TheMiddleStaysWhereNothingIsKnown) {
    EXPECT_EQ(seconds(0), 1e-3) << "no caches in the profile";
    EXPECT_EQ(seconds(held_), 1e-3) << "they may hold all of it";
    EXPECT_EQ(seconds(held_ / 2), 1e-3);
}

TEST_F(CachesTest, TheShareThatIsGoneComesFromMemory) {
    EXPECT_NEAR(seconds(held_ / 4), 1e-3 * (1 + 0.2 * 0.5), 1e-15);
    EXPECT_NEAR(seconds(held_ / 2, 2), seconds(held_ / 4), 1e-15) << "ranks share them";
    EXPECT_NEAR(seconds(1), 1.2e-3, 1e-9) << "never more than from memory";
}

TEST_F(CachesTest, TimeGrowsAsCachesShrinkWithoutAJump) {
    double before = seconds(held_);
    for (double share = 1; share > 1e-3; share *= 0.97) {
        const double now = seconds(held_ * share);
        EXPECT_GE(now, before);
        EXPECT_LT(now, before * 1.01);
        before = now;
    }
}

}  // namespace
}  // namespace orrery::sim
