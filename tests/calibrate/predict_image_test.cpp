// Kernels that no table holds yet: convolutions, pooling, batch norms, and attention of other shapes.
#include <gtest/gtest.h>

#include <cmath>

#include "base/error.hpp"
#include "calibrate/predictor.hpp"
#include "calibrate/roofline.hpp"
#include "tests/calibrate/small_profile.hpp"

namespace orrery::calibrate {
namespace {

using kernels::Attention;
using kernels::Convolution;
using kernels::Dtype;
using kernels::Gemm;
using kernels::GemmPass;

constexpr Convolution window{.batch = 32,
                             .channels = 256,
                             .rows = 14,
                             .columns = 14,
                             .outputs = 256,
                             .kernel_rows = 3,
                             .kernel_columns = 3,
                             .padding = 1};
constexpr Convolution pixel{.batch = 32, .channels = 256, .rows = 14, .columns = 14, .outputs = 1024};

TEST(PredictConvolution, OfOnePixelTakesAsLongAsItsProduct) {
    const Profile profile = small_profile();
    const Predictor predictor(profile);
    const Estimate answer = predictor.kernel(pixel);
    EXPECT_NEAR(answer.seconds / predictor.kernel(Gemm{Dtype::bf16, 1, 32 * 14 * 14, 1024, 256}).seconds, 1, 1e-9);
    EXPECT_TRUE(answer.extrapolated);
}

TEST(PredictConvolution, ReachesTheShareOfItsRooflineThatItsProductReaches) {
    const Profile profile = small_profile();
    const Predictor predictor(profile);
    for (const GemmPass pass : {GemmPass::forward, GemmPass::data_gradient, GemmPass::weight_gradient}) {
        Convolution c = window;
        c.pass = pass;
        const Gemm product = implicit_gemm(c);
        EXPECT_EQ(kernels::flops(product), kernels::flops(c));
        const Machine machine(profile.constants);
        const double share = gemm_roofline(product, machine) / predictor.kernel(product).seconds;
        EXPECT_NEAR(predictor.kernel(c).seconds, convolution_roofline(c, machine) / share, 1e-9);
        // A product reads each pixel nine times, its convolution once.
        EXPECT_LE(convolution_roofline(c, machine), gemm_roofline(product, machine));
    }
}

TEST(PredictConvolution, WithoutAnyProductTakesAStatedShare) {
    Profile profile = small_profile();
    profile.gemm.clear();
    const Estimate answer = Predictor(profile).kernel(window);
    EXPECT_NEAR(answer.seconds, 2 * convolution_roofline(window, Machine(profile.constants)), 1e-12);
    EXPECT_NE(Predictor(profile).explain(window).find("50% of its roofline"), std::string::npos);
}

TEST(PredictConvolution, WithoutAStrideIsRefused) {
    const Profile profile = small_profile();
    Convolution c = window;
    c.stride = 0;
    EXPECT_THROW((void)Predictor(profile).kernel(c), Error);
}

TEST(PredictConvolution, IsNoFasterThanProductsInALongRun) {
    Profile profile = small_profile();
    profile.constants["sustained_gemm"].value = 0.1;
    const Estimate answer = Predictor(profile).kernel(window);
    EXPECT_LT(kernels::flops(window) / answer.seconds, 0.11 * 50e12);
}

TEST(PredictStreams, TakeAsLongAsAnAdditionOfTheirBytes) {
    const Profile profile = small_profile();
    const Predictor predictor(profile);
    const auto addition = [&](const kernels::Kernel& kernel) {
        const auto elements = static_cast<std::uint64_t>(kernels::bytes(kernel) / 6);
        return predictor.kernel(kernels::Pointwise{kernels::PointwiseKind::add, Dtype::bf16, elements, 1}).seconds;
    };
    for (const kernels::Kernel& kernel : {kernels::Kernel(kernels::BatchNorm{Dtype::bf16, true, 100352, 64}),
                                          kernels::Kernel(kernels::Pooling{kernels::PoolingKind::maximum, Dtype::bf16,
                                                                           false, 32, 64, 112, 112, 3, 3, 2, 1})}) {
        const Estimate answer = predictor.kernel(kernel);
        EXPECT_NEAR(answer.seconds / addition(kernel), 1, 1e-3) << kernels::to_text(kernel);
        EXPECT_TRUE(answer.extrapolated);
        EXPECT_NE(predictor.explain(kernel).find("never measured"), std::string::npos);
    }
}

TEST(PredictAttention, OfOtherShapesHasTheRateOfTheSquareWithAsManyPairs) {
    const Profile profile = small_profile();
    const Predictor predictor(profile);
    const auto& p = profile.attention[0].points.back();
    const Attention square{Dtype::bf16, false, true, p.batch, p.seq, p.heads, p.kv_heads, p.head_dim};
    Attention open = square;
    open.window = p.seq;  // hides nothing
    EXPECT_NEAR(predictor.kernel(open).seconds, predictor.kernel(square).seconds, 1e-12);
    EXPECT_TRUE(predictor.kernel(open).extrapolated);
    Attention narrow = square;
    narrow.window = p.seq / 4;
    EXPECT_LT(predictor.kernel(narrow).seconds, predictor.kernel(square).seconds);
}

}  // namespace
}  // namespace orrery::calibrate
