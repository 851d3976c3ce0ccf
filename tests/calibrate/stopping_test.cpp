// The stopping rule on samples whose distribution is known.
#include "calibrate/measure/stopping.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace orrery::calibrate {
namespace {

constexpr StopRule rule{.target = 0.005, .min_samples = 5, .max_samples = 200, .max_seconds = 1e9};

/// Samples until the rule is content.
template <class Next>
Summary settle(Next next, const StopRule& with = rule) {
    Stopping stopping(with);
    while (!stopping.done()) stopping.add(next());
    return stopping.summary();
}

TEST(Stopping, ConstantSamplesSettleAtOnce) {
    const Summary summary = settle([] { return 2e-3; });
    EXPECT_EQ(summary.samples, rule.min_samples);
    EXPECT_DOUBLE_EQ(summary.median, 2e-3);
    EXPECT_EQ(summary.noise, 0);
    EXPECT_TRUE(summary.settled);
}

TEST(Stopping, GaussianSamplesSettleWithTheErrorTheyClaim) {
    int inside = 0;
    constexpr int trials = 200;
    for (int seed = 0; seed < trials; ++seed) {
        std::mt19937_64 random(static_cast<std::uint64_t>(seed));
        std::normal_distribution<double> time(1e-3, 2e-5);
        const Summary summary = settle([&] { return time(random); });
        EXPECT_TRUE(summary.settled);
        EXPECT_LE(summary.standard_error, rule.target);
        inside += std::abs(summary.median / 1e-3 - 1) < 3 * rule.target ? 1 : 0;
    }
    EXPECT_GE(inside, trials * 95 / 100);
}

TEST(Stopping, NoiseIsTheSpreadOfOneSample) {
    std::mt19937_64 random(1);
    std::normal_distribution<double> time(1, 0.05);
    Stopping stopping({.target = 0, .min_samples = 5, .max_samples = 2000, .max_seconds = 1e9});
    while (!stopping.done()) stopping.add(time(random));
    EXPECT_NEAR(stopping.summary().noise, 0.05, 0.015);
    EXPECT_FALSE(stopping.summary().settled);
}

TEST(Stopping, TwoEquallyLikelyModesSeldomSettle) {
    int settled = 0;
    constexpr int trials = 400;
    for (int seed = 0; seed < trials; ++seed) {
        std::mt19937_64 random(static_cast<std::uint64_t>(seed));
        const Summary summary = settle([&] { return (random() & 1U) != 0 ? 1e-3 : 1.5e-3; });
        if (summary.settled)
            ++settled;
        else
            EXPECT_GT(summary.standard_error, rule.target);
    }
    // One case in sixteen has its first five samples in one mode, and no rule can tell that from a steady device.
    EXPECT_GT(settled, trials / 32);
    EXPECT_LT(settled, trials / 5);
}

TEST(Stopping, ARareSlowModeDoesNotMoveTheMedian) {
    std::mt19937_64 random(4);
    const Summary summary = settle([&] { return random() % 10 == 0 ? 40e-3 : 1e-3; });
    EXPECT_TRUE(summary.settled);
    EXPECT_DOUBLE_EQ(summary.median, 1e-3);
}

TEST(Stopping, AWarmingDeviceIsMeasuredWarm) {
    int i = 0;
    const Summary summary = settle([&] { return 1e-3 * (1 + 0.5 * std::exp(-i++ / 10.0)); });
    EXPECT_TRUE(summary.settled);
    EXPECT_NEAR(summary.median, 1e-3, 1e-5);
}

TEST(Stopping, EndlessDriftRunsOutOfSamples) {
    double time = 1e-3;
    const Summary summary = settle([&] { return time *= 1.02; });
    EXPECT_FALSE(summary.settled);
}

TEST(Stopping, TimeEndsAPointAfterTheFewestSamples) {
    std::mt19937_64 random(2);
    std::uniform_real_distribution<double> time(1, 2);
    const Summary summary =
        settle([&] { return time(random); }, {.target = 0.005, .min_samples = 5, .max_samples = 200, .max_seconds = 3});
    EXPECT_EQ(summary.samples, 5U);
    EXPECT_FALSE(summary.settled);
}

TEST(MedianOf, KnowsSmallSamples) {
    EXPECT_EQ(median_of({}).median, 0);
    EXPECT_EQ(median_of({3}).median, 3);
    EXPECT_EQ(median_of({3}).standard_error, 0);
    EXPECT_EQ(median_of({1, 3}).median, 2);
    EXPECT_EQ(median_of({5, 1, 3}).median, 3);
}

}  // namespace
}  // namespace orrery::calibrate
