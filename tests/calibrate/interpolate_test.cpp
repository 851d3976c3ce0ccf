#include "calibrate/interpolate.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>

namespace orrery::calibrate {
namespace {

TEST(Curve, PassesThroughItsPointsAndNeverLeavesThem) {
    const std::array x{1.0, 10.0, 100.0, 1000.0}, y{5.0, 5.0, 20.0, 21.0};
    const Curve curve(x, y, true);
    for (std::size_t i = 0; i < x.size(); ++i) EXPECT_NEAR(curve.at(x[i]), y[i], 1e-9);
    double last = 0;
    for (double at = 1; at <= 1000; at *= 1.01) {
        EXPECT_GE(curve.at(at), last * (1 - 1e-12)) << at;
        EXPECT_LE(curve.at(at), 21.0 + 1e-9);
        last = curve.at(at);
    }
}

TEST(Curve, RaisesAReadingBelowItsPredecessor) {
    const std::array x{1.0, 2.0, 4.0}, y{3.0, 2.0, 6.0};
    EXPECT_NEAR(Curve(x, y, true).at(2.0), 3.0, 1e-9);
    EXPECT_NEAR(Curve(x, y, false).at(2.0), 2.0, 1e-9);
}

TEST(Curve, HoldsItsEndsOutside) {
    const std::array x{2.0, 4.0}, y{3.0, 5.0};
    const Curve curve(x, y, true);
    EXPECT_NEAR(curve.at(1.0), 3.0, 1e-9);
    EXPECT_NEAR(curve.at(9.0), 5.0, 1e-9);
}

TEST(Sweep, IsLatencyAndBandwidthBetweenTwoSizes) {
    const Sweep sweep({1e3, 1e6, 4e6}, {5e-6, 15e-6, 45e-6});
    EXPECT_DOUBLE_EQ(sweep.at(1e6), 15e-6);
    EXPECT_DOUBLE_EQ(sweep.at(2e6), 25e-6);
    EXPECT_DOUBLE_EQ(sweep.at(1), 5e-6);
    EXPECT_DOUBLE_EQ(sweep.at(1e9), 45e-6);
    EXPECT_EQ(sweep.before(999), 0U);
    EXPECT_EQ(sweep.before(1e6), 1U);
}

TEST(Sweep, LowersAReadingAboveALaterOne) {
    const Sweep sweep({1, 2, 4, 8}, {5e-6, 11e-6, 6e-6, 7e-6});
    EXPECT_DOUBLE_EQ(sweep.at(2), 6e-6);
    for (double bytes = 1; bytes < 8; bytes *= 1.01) EXPECT_LE(sweep.at(bytes), sweep.at(bytes * 1.01));
}

TEST(Curve, OfOnePointIsFlat) {
    const std::array x{2.0}, y{3.0};
    EXPECT_NEAR(Curve(x, y, true).at(100.0), 3.0, 1e-9);
}

TEST(Locate, FindsTheCellAndMarksTheOutside) {
    const std::array axis{0.0, 1.0, 3.0};
    EXPECT_EQ(locate(axis, 2.0).low, 1u);
    EXPECT_DOUBLE_EQ(locate(axis, 2.0).t, 0.5);
    EXPECT_TRUE(locate(axis, -0.1).outside);
    EXPECT_TRUE(locate(axis, 3.1).outside);
    EXPECT_FALSE(locate(axis, 3.0).outside);
    EXPECT_DOUBLE_EQ(locate(axis, 3.1).t, 1.0);
}

TEST(Scatter, AnswersWithAPointItHits) {
    Scatter<3> scatter;
    for (float i = 0; i < 20; ++i) scatter.add({i, 2 * i, 0});
    const auto hit = scatter.weights({7, 14, 0});
    ASSERT_EQ(hit.size(), 1u);
    EXPECT_EQ(hit[0].index, 7u);
}

TEST(Scatter, WeighsTheNearestMost) {
    Scatter<3> scatter;
    for (float i = 0; i < 20; ++i) scatter.add({i, 0, 0});
    const auto near = scatter.weights({4.25F, 0, 0});
    ASSERT_EQ(near.size(), Scatter<3>::neighbours);
    EXPECT_EQ(near[0].index, 4u);
    double sum = 0;
    for (const auto& w : near) sum += w.weight;
    EXPECT_NEAR(sum, 1.0, 1e-12);
    EXPECT_GT(near[0].weight, near[1].weight);
}

}  // namespace
}  // namespace orrery::calibrate
