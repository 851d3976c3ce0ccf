// Weight gradients that are added to sums in the product itself.
#include "sim/accumulation.hpp"

#include <gtest/gtest.h>

#include "hardware/gpu.hpp"
#include "tests/sim/bench.hpp"

namespace orrery::sim {
namespace {

using kernels::Dtype, kernels::Gemm, kernels::GemmPass;

/// Of a layer of 4,096 units.
Gemm product(std::uint32_t tokens, GemmPass pass = GemmPass::weight_gradient) {
    return {Dtype::bf16, 1, 4096, 4096, tokens, pass};
}

strategies::Plan plan(Dtype sums, bool fused = true) {
    strategies::Plan plan = small_scenario().plan;
    plan.training.precision.grad_reduce = sums;
    plan.training.gradient_accumulation_fusion = fused;
    return plan;
}

const hardware::Gpu &hopper = *hardware::find("H100"), &ampere = *hardware::find("A100"),
                    &blackwell = *hardware::find("GB200");

double seconds(const Gemm& gemm, Dtype sums, const hardware::Gpu& gpu, const char* profile) {
    const calibrate::Predictor& predictor = profiles().find(profile);
    return accumulation_seconds(gemm, predictor.kernel(gemm).seconds, plan(sums), gpu, predictor);
}

/// Sums read and written, less the 16 bits that the tables' products write.
TEST(Accumulation, ComesOnTopWhereAMultiprocessorHoldsOneTile) {
    const calibrate::Predictor& predictor = profiles().find("h100");
    const double rate = predictor.constant("memory_bytes_per_second") * predictor.constant("sustained_memory");
    const double fp32 = seconds(product(8192), Dtype::fp32, hopper, "h100");
    EXPECT_NEAR(fp32, 6.0 * 4096 * 4096 / rate, 1e-12);
    EXPECT_NEAR(seconds(product(8192), Dtype::bf16, hopper, "h100"), fp32 / 3, 1e-12);
    EXPECT_NEAR(fp32 / predictor.at_table_clock(product(8192)).seconds, 0.10, 0.01);
    for (const std::uint32_t tokens : {64U, 1024U, 65536U})
        EXPECT_DOUBLE_EQ(seconds(product(tokens), Dtype::fp32, hopper, "h100"), fp32) << "whatever its products sum";
}

TEST(Accumulation, RunsBesideOtherTilesElsewhere) {
    EXPECT_EQ(seconds(product(8192), Dtype::fp32, ampere, "a100"), 0);
    EXPECT_EQ(seconds(product(8192), Dtype::fp32, blackwell, "gb200"), 0);
    const calibrate::Predictor& predictor = profiles().find("a100");
    const double rate = predictor.constant("memory_bytes_per_second") * predictor.constant("sustained_memory");
    const Gemm few = product(64);  // so few tokens that the memory decides
    const double alone = predictor.kernel(few).seconds, longer = seconds(few, Dtype::fp32, ampere, "a100");
    EXPECT_GT(longer, 0);
    EXPECT_NEAR(alone + longer, (kernels::bytes(few) + 6.0 * 4096 * 4096) / rate, 1e-12);
    EXPECT_EQ(seconds(product(8192), Dtype::fp32, *hardware::find("MI300X"), "mi300x"), 0);
    EXPECT_GT(seconds(few, Dtype::fp32, *hardware::find("MI300X"), "mi300x"), 0);
}

TEST(Accumulation, IsOfFusedWeightGradientsAlone) {
    const calibrate::Predictor& predictor = profiles().find("h100");
    for (const GemmPass pass : {GemmPass::forward, GemmPass::data_gradient})
        EXPECT_EQ(seconds(product(8192, pass), Dtype::fp32, hopper, "h100"), 0);
    EXPECT_EQ(accumulation_seconds(product(8192), 1e-3, plan(Dtype::fp32, false), hopper, predictor), 0);
    EXPECT_EQ(accumulation_seconds(product(8192), 1e-3, plan(Dtype::fp32), *hardware::find("TPU-v5e"), predictor), 0);
    const kernels::Pointwise add{kernels::PointwiseKind::add, Dtype::bf16, 512, 512};
    EXPECT_EQ(accumulation_seconds(add, 1e-3, plan(Dtype::fp32), hopper, predictor), 0);
}

TEST(Accumulation, IsInWhatWasMeasuredAsTrained) {
    calibrate::Profile profile = profiles().find("h100").profile();
    profile.gemm.front().pass = GemmPass::weight_gradient;
    EXPECT_EQ(accumulation_seconds(product(8192), 1e-3, plan(Dtype::fp32), hopper, calibrate::Predictor(profile)), 0);
}

TEST(Accumulation, LengthensAStepOnHopperByLittle) {
    const auto step = [](const char* sums, const char* fused) {
        return quick(small_scenario(std::string(R"({"cluster": {"preset": "superpod-h100"}, "training": {)") +
                                    R"("cuda_graph": true, "grad_reduce_precision": ")" + sums +
                                    R"(", "gradient_accumulation_fusion": )" + fused + "}}"))
            .step_time_s;
    };
    EXPECT_GT(step("fp32", "true"), step("bf16", "true"));
    EXPECT_LT(step("fp32", "true"), step("fp32", "false")) << "a kernel of its own reads the gradient again";
}

}  // namespace
}  // namespace orrery::sim
