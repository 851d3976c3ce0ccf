// The clock that a power limit leaves, and what products and attention take at it.
#include "calibrate/power_limit.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "calibrate/roofline.hpp"
#include "tests/calibrate/small_profile.hpp"

namespace orrery::calibrate {
namespace {

using kernels::Attention, kernels::Dtype, kernels::Gemm, kernels::Pointwise, kernels::PointwiseKind;

const Gemm large{Dtype::bf16, 1, 4096, 2048, 2048}, modest{Dtype::bf16, 1, 256, 512, 512};

/// A long run keeps 81% of the best rate at 60% of the clock.
Profile limited_profile() {
    Profile profile = small_profile();
    profile.constants["sustained_gemm"].value = 0.81;
    profile.constants["sustained_clock"] = {0.6, "1", "test"};
    return profile;
}

TEST(PowerLimit, ClockSquaredTimesRateIsThatOfTheLongRun) {
    const Profile profile = limited_profile();
    const Predictor predictor(profile);
    const PowerLimit limit(predictor);
    ASSERT_TRUE(limit.known());
    const double sustained = 0.81 * best_half_rate(profile, Machine(profile.constants));
    EXPECT_NEAR(limit.clock(sustained), 0.6, 1e-12);
    EXPECT_NEAR(limit.clock(sustained / 2), 0.6 * std::sqrt(2), 1e-12);
    EXPECT_EQ(limit.clock(sustained / 10), 1) << "nothing holds it back";
    EXPECT_EQ(limit.clock(0), 1);
}

/// Of three quarters of the power clock^2 x rate is three quarters of what it was, and slow products slow down too.
TEST(PowerLimit, AnotherLimitIsAnotherProduct) {
    const Profile profile = limited_profile();
    const Predictor predictor(profile);
    const PowerLimit own(predictor), lower(predictor, 0.75);
    for (const double rate : {1e10, 1e12, 1e14}) {
        EXPECT_LE(lower.clock(rate), own.clock(rate));
        if (own.clock(rate) == 1) continue;
        EXPECT_NEAR(std::pow(lower.clock(rate) / own.clock(rate), 2), 0.75, 1e-12);
    }
}

TEST(PowerLimit, FastProductsLoseWhatTheClockTakesAndSlowOnesNothing) {
    const Profile profile = limited_profile();
    const Predictor predictor(profile);
    const PowerLimit limit(predictor);
    const Estimate fast = predictor.kernel(large), slow = predictor.kernel(modest);
    EXPECT_NEAR(limit.seconds(fast, 0.6) / fast.seconds, 1, 1e-12) << "the long run is what estimates stand for";
    EXPECT_NEAR(limit.seconds(fast, 1) / predictor.at_table_clock(large).seconds, 1, 1e-12);
    EXPECT_NEAR(limit.seconds(fast, std::sqrt(0.6)) / limit.seconds(fast, 1), 1 / 0.9, 1e-4) << "half the way";
    EXPECT_EQ(limit.seconds(slow, 0.6), slow.seconds);
    double before = 0;
    for (double clock = 1; clock > 0.3; clock -= 0.01) {
        const double now = limit.seconds(fast, clock);
        EXPECT_GE(now, before) << clock;
        before = now;
    }
}

TEST(PowerLimit, AttentionGoesWithTheClockAndMemoryDoesNot) {
    const Profile profile = limited_profile();
    const Predictor predictor(profile);
    const PowerLimit limit(predictor);
    const Attention attention{.batch = 1, .seq = 2048, .heads = 8, .kv_heads = 8, .head_dim = 128};
    const Estimate fused = predictor.kernel(attention),
                   add = predictor.kernel(Pointwise{PointwiseKind::add, Dtype::bf16, 4096, 4096});
    EXPECT_NEAR(limit.seconds(fused, 0.5), 2 * limit.seconds(fused, 1), 1e-12);
    EXPECT_EQ(limit.seconds(add, 0.5), add.seconds);
}

TEST(PowerLimit, NarrowFormatsDrawAsMuchAtTwiceTheRate) {
    Profile profile = limited_profile();
    profile.constants["peak_fp8_flops"] = {200e12, "flop/s", "test"};
    const Predictor predictor(profile);
    const PowerLimit limit(predictor);
    EXPECT_NEAR(limit.half_operations(large), kernels::flops(large), 1);
    EXPECT_NEAR(limit.half_operations(Gemm{Dtype::fp8, 1, 4096, 2048, 2048}), kernels::flops(large) / 2, 1);
    EXPECT_NEAR(limit.half_operations(Gemm{Dtype::fp32, 1, 4096, 2048, 2048}), kernels::flops(large), 1);
    EXPECT_EQ(limit.half_operations(Pointwise{PointwiseKind::add, Dtype::bf16, 64, 64}), 0);
}

TEST(PowerLimit, WithoutAClockEstimatesStayAsTheyAre) {
    const Profile profile = small_profile();
    const Predictor predictor(profile);
    const PowerLimit limit(predictor);
    EXPECT_FALSE(limit.known());
    EXPECT_EQ(limit.clock(1e18), 1);
    EXPECT_EQ(limit.seconds(predictor.kernel(large), 0.5), predictor.kernel(large).seconds);
}

}  // namespace
}  // namespace orrery::calibrate
