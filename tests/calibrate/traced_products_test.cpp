// Products of a traced training in a profile.
#include "calibrate/traced_products.hpp"

#include <gtest/gtest.h>

#include "base/error.hpp"
#include "calibrate/predictor.hpp"
#include "tests/calibrate/small_profile.hpp"

namespace orrery::calibrate {
namespace {

using kernels::Dtype;
using kernels::Gemm;
using kernels::GemmPass;

const Provenance origin{"device", "as in training", "not told", "PyTorch", "torch.profiler, t.json", "mine"};

TEST(TracedProducts, AnswerForTheirOwnShapeAlone) {
    const Gemm shape{Dtype::bf16, 1, 2000, 3000, 1000}, other{Dtype::bf16, 1, 2001, 3000, 1000};
    const double before = Predictor(small_profile()).at_table_clock(other).seconds;
    Profile profile = small_profile();
    EXPECT_EQ(put_products(profile, {{shape, 0.125, 0.01}}, origin), 0U);
    const Predictor predictor(profile);
    EXPECT_DOUBLE_EQ(predictor.at_table_clock(shape).seconds, 0.125);
    EXPECT_NEAR(predictor.at_table_clock(shape).uncertainty, 0.01, 1e-7);
    EXPECT_DOUBLE_EQ(predictor.at_table_clock(other).seconds, before);
    EXPECT_NE(predictor.explain(shape).find("measured"), std::string::npos);
}

TEST(TracedProducts, ReplaceOlderTimesOfTheirShapeAndNameBothOrigins) {
    const Gemm a{Dtype::bf16, 1, 64, 64, 64}, b{Dtype::bf16, 8, 64, 64, 64}, c{Dtype::bf16, 1, 32, 64, 64};
    Profile profile = small_profile();
    (void)put_products(profile, {{a, 1e-5, 0}, {b, 2e-5, 0}}, origin);
    Provenance later = origin;
    later.origin = "torch.profiler, later.json";
    EXPECT_EQ(put_products(profile, {{a, 3e-5, 0}, {c, 4e-6, 0}}, later), 1U);
    ASSERT_EQ(profile.batched_gemm.size(), 1U);
    const BatchedGemmTable& table = profile.batched_gemm[0];
    ASSERT_EQ(table.points.size(), 3U);
    EXPECT_EQ(table.points[0].m, 32U);
    EXPECT_FLOAT_EQ(table.points[1].seconds, 3e-5F);
    EXPECT_EQ(table.points[2].batch, 8U);
    EXPECT_EQ(table.provenance.origin, "torch.profiler, later.json; other shapes: torch.profiler, t.json");
    Gemm weights = a;
    weights.pass = GemmPass::weight_gradient;
    (void)put_products(profile, {{weights, 1e-5, 0}}, origin);
    EXPECT_EQ(profile.batched_gemm.size(), 2U);
}

TEST(TracedProducts, AreRefusedWhereTheyAreNoTimes) {
    Profile profile = small_profile();
    EXPECT_THROW((void)put_products(profile, {{{Dtype::bf16, 1, 64, 64, 64}, 0, 0}}, origin), Error);
    EXPECT_THROW((void)put_products(profile, {{{Dtype::bf16, 1, 32, 64, 64}, 1e-5, 1.5}}, origin), Error);
}

}  // namespace
}  // namespace orrery::calibrate
