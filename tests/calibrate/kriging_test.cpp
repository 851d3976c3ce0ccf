// Kriging: exact where measured, honest about where it is not.
#include "calibrate/kriging.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <random>
#include <tuple>

#include "calibrate/gemm_trend.hpp"
#include "calibrate/predictor.hpp"
#include "calibrate/scatter_settings.hpp"
#include "tests/calibrate/small_profile.hpp"

namespace orrery::calibrate {
namespace {

double surface(double x, double y) { return 0.3 * std::sin(x) + 0.1 * y; }

ScatteredValues scattered(std::size_t count, double noise) {
    std::mt19937_64 random(9);
    std::uniform_real_distribution<double> place(0, 6);
    std::normal_distribution<double> error(0, 1);
    ScatteredValues data{2, 0, {}, {}};
    for (std::size_t i = 0; i < count; ++i) {
        const double x = place(random), y = place(random);
        data.coordinates.insert(data.coordinates.end(), {x, y});
        data.values.push_back(surface(x, y) + noise * error(random));
    }
    return data;
}

TEST(Kriging, ReturnsMeasuredValuesWithLittleDoubt) {
    const ScatteredValues data = scattered(60, 0);
    const Kriging kriging(data);
    for (std::size_t i = 0; i < data.size(); ++i) {
        const auto answer = kriging.at(data.point(i));
        EXPECT_NEAR(answer.value, data.values[i], 1e-3);
        EXPECT_LT(answer.deviation, 0.02);
    }
}

TEST(Kriging, DoubtsWhatLiesFarFromEveryMeasurement) {
    const Kriging kriging(scattered(60, 0));
    const auto inside = kriging.at(std::array{3.0, 3.0}), outside = kriging.at(std::array{20.0, 20.0});
    EXPECT_NEAR(inside.value, surface(3, 3), 0.03);
    EXPECT_GT(outside.deviation, 3 * inside.deviation);
}

TEST(Kriging, AveragesNoise) {
    const Kriging kriging(scattered(300, 0.05));
    double square = 0;
    for (double x = 1; x < 5; x += 0.5) square += std::pow(kriging.at(std::array{x, 3.0}).value - surface(x, 3), 2);
    EXPECT_LT(std::sqrt(square / 8), 0.035);  // a single reading is off by 0.05
}

TEST(Kriging, LeavesOneOutWithoutFittingAgain) {
    const ScatteredValues data = scattered(40, 0.01);
    const Kriging kriging(data);
    const auto errors = kriging.leave_one_out();
    ASSERT_EQ(errors.size(), data.size());
    double largest = 0;
    for (const double e : errors) largest = std::max(largest, std::abs(e));
    EXPECT_GT(largest, 0.001);
    EXPECT_LT(largest, 0.2);
}

TEST(Kriging, AnswersLargeTablesFromNearPoints) {
    const Kriging kriging(scattered(Kriging::most_global + 50, 0.001));
    EXPECT_NEAR(kriging.at(std::array{3.0, 3.0}).value, surface(3, 3), 0.02);
    EXPECT_TRUE(kriging.leave_one_out().empty());
}

TEST(Kriging, OfOnePointIsThatPoint) {
    const Kriging kriging(ScatteredValues{1, 0, {2.0}, {5.0}});
    EXPECT_DOUBLE_EQ(kriging.at(std::array{7.0}).value, 5.0);
}

/// A machine that computes whole vectors and packs its operands.
GemmTable blocked(std::size_t count) {
    std::mt19937_64 random(5);
    std::uniform_real_distribution<double> ln(std::log(32.0), std::log(2048.0));
    GemmTable table{kernels::Dtype::fp32, {}, {}};
    for (std::size_t i = 0; i < count; ++i) {
        const auto size = [&] { return static_cast<std::uint32_t>(std::exp(ln(random))); };
        const std::uint32_t m = size(), n = size(), k = size();
        const double whole = std::ceil(m / 16.0) * 16.0;
        const double seconds = 1e-6 + 2e-12 * whole * n * k + 1e-10 * (static_cast<double>(m) * k + 3.0 * n * k);
        table.points.push_back({m, n, k, static_cast<float>(seconds), 0.01F});
    }
    return table;
}

CostTerms costs_of(const GemmTable& table) {
    std::vector<CostTerms> parts;
    for (const auto& p : table.points) parts.push_back(parts_of({table.dtype, 1, p.m, p.n, p.k}));
    return fitted_costs(parts, seconds_of(table.points));
}

TEST(GemmTrend, FindsWhatTheTimeIsMadeOf) {
    const CostTerms costs = costs_of(blocked(80));
    for (const auto& p : blocked(120).points)
        EXPECT_NEAR(total_cost(parts_of({kernels::Dtype::fp32, 1, p.m, p.n, p.k}), costs) / p.seconds, 1, 0.02);
}

TEST(GemmTrend, ABatchPaysItsStartOnce) {
    const CostTerms costs = costs_of(blocked(80));
    const double one = total_cost(parts_of({kernels::Dtype::fp32, 1, 64, 64, 64}), costs),
                 ten = total_cost(parts_of({kernels::Dtype::fp32, 10, 64, 64, 64}), costs);
    EXPECT_LT(ten, 10 * one);
    EXPECT_GT(ten, 5 * one);
}

TEST(GemmScatter, PredictsAMeasuredTableAndItsOwnRows) {
    Profile profile = small_profile();
    GemmTable table = blocked(120);
    const GemmTable unseen = blocked(200);
    std::ranges::sort(table.points, {}, [](const GemmPoint& p) { return std::tuple(p.m, p.n, p.k); });
    profile.gemm = {table};
    const Predictor predictor(profile);
    for (std::size_t i = 120; i < 200; ++i) {
        const auto& p = unseen.points[i];
        const Estimate estimate = predictor.kernel(kernels::Gemm{kernels::Dtype::fp32, 1, p.m, p.n, p.k});
        EXPECT_NEAR(estimate.seconds / p.seconds, 1, 0.1);
        EXPECT_GE(estimate.uncertainty, 0.009);
    }
}

/// Settings that the profile holds answer to the bit as those that would be chosen anew, and are kept in its file.
TEST(GemmScatter, AnswersFromStoredSettingsAsFromChosenOnes) {
    Profile profile = small_profile();
    GemmTable table = blocked(120);
    std::ranges::sort(table.points, {}, [](const GemmPoint& p) { return std::tuple(p.m, p.n, p.k); });
    profile.gemm = {table};
    ASSERT_TRUE(is_scattered(table));
    Profile stored = profile;
    choose_settings(stored);
    ASSERT_TRUE(stored.gemm[0].scatter);
    EXPECT_EQ(stored.gemm[0].scatter->points, 120U);
    const Profile without = as_read(profile), with = as_read(stored);
    ASSERT_TRUE(with.gemm[0].scatter);
    EXPECT_EQ(with.gemm[0].scatter->trend, stored.gemm[0].scatter->trend);
    const Predictor chosen(without), given(with);
    for (const std::uint32_t size : {33U, 64U, 100U, 512U, 1999U}) {
        const kernels::Gemm gemm{kernels::Dtype::fp32, 1, size, 2 * size, 128};
        EXPECT_EQ(chosen.kernel(gemm).seconds, given.kernel(gemm).seconds);
        EXPECT_EQ(chosen.kernel(gemm).uncertainty, given.kernel(gemm).uncertainty);
    }
    stored.gemm[0].scatter->noise = 0.7;
    EXPECT_NE(Predictor(stored).kernel(kernels::Gemm{kernels::Dtype::fp32, 1, 100, 100, 100}).seconds,
              chosen.kernel(kernels::Gemm{kernels::Dtype::fp32, 1, 100, 100, 100}).seconds)
        << "they are used";
    stored.gemm[0].points.pop_back();
    choose_settings(stored);
    EXPECT_EQ(stored.gemm[0].scatter->points, 119U) << "chosen anew for another number of points";
    EXPECT_NE(stored.gemm[0].scatter->noise, 0.7);
}

}  // namespace
}  // namespace orrery::calibrate
