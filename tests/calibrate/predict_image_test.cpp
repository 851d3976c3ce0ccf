// Kernels that no table holds yet: convolutions, pooling, batch norms, and attention of other shapes.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

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
    EXPECT_FALSE(answer.derived.empty());
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
        const double share = gemm_roofline(product, machine) / predictor.at_table_clock(product).seconds;
        EXPECT_NEAR(predictor.at_table_clock(c).seconds, convolution_roofline(c, machine) / share, 1e-9);
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

/// Twice its roofline everywhere, with a spread for one shape.
Profile with_convolutions() {
    Profile profile = small_profile();
    const Machine machine(profile.constants);
    ConvolutionTable table{Dtype::bf16, GemmPass::forward, profile.gemm[0].provenance, {}};
    for (const std::uint32_t channels : {64U, 128U, 256U})
        for (const std::uint32_t batch : {8U, 64U}) {
            const Convolution c{.batch = batch,
                                .channels = channels,
                                .rows = 14,
                                .columns = 14,
                                .outputs = channels,
                                .kernel_rows = 3,
                                .kernel_columns = 3,
                                .padding = 1};
            table.points.push_back({c, static_cast<float>(2 * convolution_roofline(c, machine)), 0.05F});
        }
    profile.convolution.push_back(table);
    return profile;
}

TEST(PredictConvolution, ReturnsMeasuredTimes) {
    const Profile profile = with_convolutions();
    const Predictor predictor(profile);
    for (const ConvolutionPoint& p : profile.convolution[0].points) {
        const Estimate answer = predictor.kernel(p.shape);
        EXPECT_NEAR(answer.seconds / p.seconds, 1, 1e-5);
        EXPECT_FALSE(answer.extrapolated);
        EXPECT_NEAR(answer.uncertainty, 0.05, 1e-6);
    }
    EXPECT_NE(predictor.explain(profile.convolution[0].points[3].shape).find("row 3"), std::string::npos);
}

TEST(PredictConvolution, BetweenMeasuredShapesKeepsTheirShareOfTheRoofline) {
    const Profile profile = with_convolutions();
    const Machine machine(profile.constants);
    Convolution between = profile.convolution[0].points[2].shape;
    between.batch = 20;
    between.rows = between.columns = 16;
    EXPECT_NEAR(Predictor(profile).kernel(between).seconds / convolution_roofline(between, machine), 2, 1e-4);
    between.batch = 4096;  // more work than any row
    EXPECT_TRUE(Predictor(profile).kernel(between).extrapolated);
    between.pass = GemmPass::data_gradient;  // never measured
    EXPECT_NE(Predictor(profile).explain(between).find("never measured"), std::string::npos);
}

TEST(PredictConvolution, TakesTheSpreadOfItsNeighboursForItsUncertainty) {
    Profile profile = with_convolutions();
    for (ConvolutionPoint& p : profile.convolution[0].points) p.half_width = 0;
    Convolution between = profile.convolution[0].points[2].shape;
    between.batch = 20;
    EXPECT_NEAR(Predictor(profile).kernel(between).uncertainty, 0, 1e-3);  // all at twice their roofline
    for (std::size_t i = 0; i < profile.convolution[0].points.size(); i += 2)
        profile.convolution[0].points[i].seconds *= 1.5F;
    const Estimate answer = Predictor(profile).kernel(between);
    EXPECT_GT(answer.uncertainty, 0.05);
    EXPECT_LT(answer.uncertainty, std::log(1.5));
}

TEST(PredictConvolution, PadsChannelsForTensorCores) {
    const Profile profile = with_convolutions();
    const Predictor predictor(profile);
    Convolution colours = profile.convolution[0].points[0].shape, padded = colours;
    colours.channels = 3;
    padded.channels = 8;
    EXPECT_EQ(predictor.kernel(colours).seconds, predictor.kernel(padded).seconds);
    colours.dtype = padded.dtype = Dtype::fp32;
    EXPECT_LT(predictor.kernel(colours).seconds, predictor.kernel(padded).seconds);
}

TEST(PredictConvolution, FormatsOf16BitsShareATable) {
    const Profile profile = with_convolutions();
    const Predictor predictor(profile);
    Convolution c = profile.convolution[0].points[0].shape;
    const double seconds = predictor.kernel(c).seconds;
    c.dtype = Dtype::fp16;
    EXPECT_EQ(predictor.kernel(c).seconds, seconds);
    c.dtype = Dtype::fp32;
    EXPECT_FALSE(predictor.kernel(c).derived.empty());
}

/// Winograd's algorithm has fewer operations than are counted, so that a measured rate may lie above the peak.
TEST(PredictConvolution, KeepsARateAboveThePeakThatWasMeasured) {
    Profile profile = with_convolutions();
    const Machine machine(profile.constants);
    ConvolutionPoint fast = profile.convolution[0].points.back();
    fast.seconds = static_cast<float>(kernels::flops(fast.shape) / (2 * machine.peak(Dtype::bf16)));
    profile.convolution[0].points = {fast};
    profile.constants["sustained_gemm"].value = 0.9;
    EXPECT_NEAR(Predictor(profile).kernel(fast.shape).seconds * 0.9 / fast.seconds, 1, 1e-5);
}

TEST(ConvolutionTable, SurvivesItsFile) {
    const Profile profile = with_convolutions();
    const std::filesystem::path file = std::filesystem::path(testing::TempDir()) / "convolutions.json";
    save_profile(profile, file);
    const Profile back = load_profile(file);
    std::filesystem::remove(file);
    ASSERT_EQ(back.convolution.size(), 1U);
    EXPECT_EQ(back.convolution[0].pass, GemmPass::forward);
    ASSERT_EQ(back.convolution[0].points.size(), profile.convolution[0].points.size());
    for (std::size_t i = 0; i < back.convolution[0].points.size(); ++i) {
        const ConvolutionPoint &written = profile.convolution[0].points[i], &read = back.convolution[0].points[i];
        EXPECT_EQ(read.shape, written.shape);
        EXPECT_NEAR(read.seconds / written.seconds, 1, 1e-3);
        EXPECT_NEAR(read.half_width, written.half_width, 1e-5);
    }
}

TEST(ConvolutionTable, ImpossibleAndUnorderedRowsAreRefused) {
    const std::filesystem::path file = std::filesystem::path(testing::TempDir()) / "refused.json";
    const auto refused = [&](auto change) {
        Profile profile = with_convolutions();
        change(profile.convolution[0].points);
        EXPECT_THROW(save_profile(profile, file), Error);
    };
    refused([](auto& points) { points[1].shape.groups = 7; });
    refused([](auto& points) { points[1].shape.stride = 0; });
    refused([](auto& points) { points[1].seconds = 0; });
    refused([](auto& points) { std::swap(points[0], points[1]); });
    refused([](auto& points) { points[1] = points[0]; });
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
        EXPECT_FALSE(answer.derived.empty());
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
    EXPECT_FALSE(predictor.kernel(open).derived.empty());
    Attention narrow = square;
    narrow.window = p.seq / 4;
    EXPECT_LT(predictor.kernel(narrow).seconds, predictor.kernel(square).seconds);
}

}  // namespace
}  // namespace orrery::calibrate
