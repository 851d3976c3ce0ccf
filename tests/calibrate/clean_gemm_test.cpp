#include "calibrate/clean_gemm.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace orrery::calibrate {
namespace {

/// A line of twins at 100 TFLOP/s, each reading slower by a factor drawn from [1, 1 + noise].
GemmTable twins(double noise) {
    GemmTable table{kernels::Dtype::bf16, {}, {}};
    std::mt19937_64 random(20240611);
    std::uniform_real_distribution<double> slower(1.0, 1.0 + noise);
    for (std::uint32_t m = 1024; m <= 4096; m += 256)
        for (const std::uint32_t odd : {0U, 1U}) {
            const double flops = 2.0 * (m + odd) * 1024 * 1024;
            table.points.push_back({m + odd, 1024, 1024, static_cast<float>(flops / 100e12 * slower(random))});
        }
    return table;
}

TEST(CleanGemm, LeavesAQuietTableAlone) {
    GemmTable table = twins(0.03);
    table.points[6].seconds *= 1.5F;  // one odd reading does not make a table disturbed
    const float kept = table.points[6].seconds;
    EXPECT_LT(twin_difference(table), disturbed_twins);
    EXPECT_EQ(replace_disturbed(table), 0u);
    EXPECT_EQ(table.points[6].seconds, kept);
    EXPECT_EQ(table.provenance.origin, "");
}

TEST(CleanGemm, ReplacesOnlySlowReadingsAndSaysSo) {
    GemmTable table = twins(0.4);
    const GemmTable before = table;
    ASSERT_GT(twin_difference(table), disturbed_twins);
    const std::size_t replaced = replace_disturbed(table);
    EXPECT_GT(replaced, 0u);
    EXPECT_LT(replaced, table.points.size() / 2);
    std::size_t changed = 0;
    for (std::size_t i = 0; i < table.points.size(); ++i) {
        EXPECT_LE(table.points[i].seconds, before.points[i].seconds);
        changed += table.points[i].seconds < before.points[i].seconds ? 1 : 0;
    }
    EXPECT_EQ(changed, replaced);
    EXPECT_NE(table.provenance.origin.find("replaced"), std::string::npos);
}

TEST(CleanGemm, LowersWhatIsSlowerThanAProductAroundIt) {
    GemmTable table{kernels::Dtype::bf16,
                    {},
                    {{64, 512, 512, 9e-6F}, {128, 512, 512, 4e-6F}, {128, 256, 1024, 5e-6F}, {256, 512, 512, 6e-6F}}};
    EXPECT_EQ(lower_to_larger(table), 1u);
    EXPECT_EQ(table.points[0].seconds, 4e-6F);
    EXPECT_EQ(table.points[2].seconds, 5e-6F) << "none contains it";
    EXPECT_NE(table.provenance.origin.find("1 of 4 readings lowered"), std::string::npos);
    EXPECT_EQ(lower_to_larger(table), 0u);
}

TEST(CleanGemm, FindsNoTwinsWhereThereAreNone) {
    const GemmTable lone{kernels::Dtype::bf16, {}, {{512, 512, 512, 1e-5F}, {1024, 512, 512, 2e-5F}}};
    EXPECT_EQ(twin_difference(lone), 0.0);
}

}  // namespace
}  // namespace orrery::calibrate
