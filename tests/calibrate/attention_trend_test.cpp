// Scattered measurements of fused attention and of products on a GPU: what their times are made of.
#include "calibrate/attention_trend.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <tuple>

#include "base/error.hpp"
#include "calibrate/gemm_trend.hpp"
#include "calibrate/predictor.hpp"
#include "calibrate/profile_check.hpp"
#include "calibrate/scatter_settings.hpp"
#include "tests/calibrate/small_profile.hpp"

namespace orrery::calibrate {
namespace {

using kernels::Attention;

/// A GPU of 100 multiprocessors.
Profile gpu() {
    Profile profile = small_profile();
    profile.constants["multiprocessors"] = {100, "1", "a pretended device"};
    return profile;
}

/// What such a machine takes: a start, the walk of the longest block over its keys, the rest at the machine's rate.
double pretended(const Attention& a) {
    const double heads = static_cast<double>(a.batch) * a.heads, pairs = heads * a.pairs();
    const double walk = 1e-10 * a.seq * a.head_dim * (a.backward ? 1 + a.heads / a.kv_heads : 1);
    return 4e-6 + walk + 1.2e-14 * pairs * a.head_dim + 2e-14 * pairs + 2e-12 * heads * a.seq * a.head_dim;
}

std::vector<Attention> shapes(std::size_t count, bool backward, std::uint64_t seed) {
    std::mt19937_64 random(seed);
    const auto among = [&](std::initializer_list<std::uint32_t> choices) {
        return *(choices.begin() + static_cast<std::ptrdiff_t>(random() % choices.size()));
    };
    std::vector<Attention> out;
    while (out.size() < count) {
        const std::uint32_t kv_heads = among({2, 4, 8, 16});
        const Attention a{kernels::Dtype::bf16,
                          backward,
                          true,
                          among({1, 2, 4}),
                          128 * among({1, 2, 3, 5, 8, 16, 31, 64}),
                          kv_heads * among({1, 2, 4}),
                          kv_heads,
                          among({64, 128})};
        if (std::ranges::find(out, a) == out.end()) out.push_back(a);
    }
    return out;
}

AttentionTable measured(const std::vector<Attention>& of, bool backward) {
    AttentionTable table{backward, true, {}, {}, kernels::Dtype::bf16};
    for (const Attention& a : of)
        table.points.push_back(
            {a.batch, a.seq, a.heads, a.kv_heads, a.head_dim, static_cast<float>(pretended(a)), 0.01F});
    std::ranges::sort(table.points, {}, &AttentionPoint::shape);
    return table;
}

Profile with_attention() {
    Profile profile = gpu();
    profile.attention = {measured(shapes(60, false, 1), false), measured(shapes(60, true, 2), true)};
    return profile;
}

TEST(AttentionTrend, PredictsUnseenShapesFromWhatTheirTimesAreMadeOf) {
    const Profile profile = with_attention();
    const Predictor predictor(profile);
    for (const bool backward : {false, true})
        for (const Attention& a : shapes(40, backward, 3))
            EXPECT_NEAR(predictor.at_table_clock(a).seconds / pretended(a), 1, 0.04) << kernels::to_text(a);
}

TEST(AttentionTrend, AShapeThatWasMeasuredTakesWhatWasMeasured) {
    Profile profile = with_attention();
    profile.attention[0].points[7].seconds *= 1.3F;
    const AttentionPoint& odd = profile.attention[0].points[7];
    const Attention a = shape_of(odd, profile.attention[0]);
    EXPECT_NEAR(Predictor(profile).at_table_clock(a).seconds / odd.seconds, 1, 1e-6);
}

TEST(AttentionTrend, DoubtsWhatItHasNotSeen) {
    const Profile profile = with_attention();
    const Predictor predictor(profile);
    const Attention near = shapes(40, false, 3).front();
    Attention far = near;
    far.seq = 1 << 17;
    EXPECT_FALSE(predictor.at_table_clock(near).extrapolated);
    EXPECT_TRUE(predictor.at_table_clock(far).extrapolated);
    EXPECT_GT(predictor.at_table_clock(far).uncertainty, predictor.at_table_clock(near).uncertainty);
}

TEST(AttentionTrend, AnswersFromStoredSettingsAsFromChosenOnes) {
    const Profile profile = with_attention();
    Profile stored = profile;
    choose_settings(stored);
    const Profile with = as_read(stored), without = as_read(profile);
    ASSERT_TRUE(with.attention[0].scatter);
    EXPECT_EQ(with.attention[0].scatter->points, 60U);
    const Predictor chosen(without), given(with);
    for (const Attention& a : shapes(20, true, 4)) {
        EXPECT_EQ(chosen.kernel(a).seconds, given.kernel(a).seconds);
        EXPECT_EQ(chosen.kernel(a).uncertainty, given.kernel(a).uncertainty);
    }
    stored.attention[0].scatter->noise = -1;
    EXPECT_THROW(check_profile(stored), Error);
}

/// Published tables have no half-widths and repeat no better than their neighbours; a few points fit no parts.
TEST(AttentionTrend, LeavesOtherTablesAsTheyAre) {
    AttentionTable table = measured(shapes(60, false, 1), false);
    EXPECT_TRUE(is_scattered(table));
    AttentionTable few = table;
    few.points.resize(10);
    EXPECT_FALSE(is_scattered(few));
    for (AttentionPoint& point : table.points) point.half_width = 0;
    EXPECT_FALSE(is_scattered(table));
}

/// Rows of 64 elements of 2 bytes begin at lines of 128; others take so much longer.
TEST(GemmScatter, SeesRowsThatDoNotBeginAtLinesOfAGpu) {
    constexpr double longer = 1.25;
    std::mt19937_64 random(5);
    Profile profile = gpu();
    GemmTable table{kernels::Dtype::bf16, {}, {}};
    const auto seconds = [](std::uint32_t m, std::uint32_t n, std::uint32_t k) {
        return (2e-6 + 2.5e-15 * m * n * k) * (n % 64 != 0 || k % 64 != 0 ? longer : 1);
    };
    for (int i = 0; i < 160; ++i) {
        const auto size = [&](std::uint32_t unit) { return unit * static_cast<std::uint32_t>(4 + random() % 28); };
        const std::uint32_t m = 7 + size(64), n = size(64) + (i % 2) * 16, k = size(64) + (i % 4 == 3 ? 48 : 0);
        table.points.push_back({m, n, k, static_cast<float>(seconds(m, n, k)), 0.01F});
    }
    std::ranges::sort(table.points, {}, [](const GemmPoint& p) { return std::tuple(p.m, p.n, p.k); });
    profile.gemm = {table};
    ASSERT_TRUE(is_scattered(table));
    const Predictor predictor(profile);
    for (const std::uint32_t n : {1024U, 1040U, 1536U, 1552U})
        EXPECT_NEAR(predictor.at_table_clock(kernels::Gemm{kernels::Dtype::bf16, 1, 1000, n, 960}).seconds /
                        seconds(1000, n, 960),
                    1, 0.06)
            << n;
}

/// What was measured on an H200, points predicted from the others: what is asked of a calibration.
TEST(MeasuredH200, PredictsShapesThatItHasNotSeen) {
    const auto errors = held_out_errors(load_profile("scenarios/profiles/h200-measured.json"));
    EXPECT_LE(errors.at("attention").median, 0.0405);
    EXPECT_LE(errors.at("attention-backward").median, 0.04);
    EXPECT_LE(errors.at("gemm-bf16-512").median, 0.03);
}

}  // namespace
}  // namespace orrery::calibrate
