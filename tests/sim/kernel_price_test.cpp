// Which kernels wait for the slowest board, have their attention's rate, the device's memory, or add to sums.
#include "sim/kernel_price.hpp"

#include <gtest/gtest.h>

#include "base/error.hpp"
#include "hardware/attention_kernels.hpp"
#include "strategies/build.hpp"
#include "tests/sim/bench.hpp"
#include "topology/catalog.hpp"

namespace orrery::sim {
namespace {

using hardware::AttentionKernel;
using kernels::Attention, kernels::Dtype, kernels::Gemm, kernels::GemmPass, kernels::Pointwise, kernels::PointwiseKind;

class KernelPriceTest : public testing::Test {
protected:
    [[nodiscard]] KernelPrice price(const kernels::Kernel& kernel, const char* gpu) {
        const strategies::StepProgram step = strategies::build(plan_);
        return KernelPrices(step, plan_, topology::find_gpu(gpu), profiles().find(profile_), 8).of(kernel);
    }
    strategies::Plan plan_ = small_scenario().plan;
    std::string profile_ = "h100";
};

TEST_F(KernelPriceTest, ProductsWaitForTheSlowestBoardAndMemoryForTheDevices) {
    const KernelPrice product = price(Gemm{Dtype::bf16, 1, 4096, 4096, 4096}, "H100-SXM5-80GB");
    EXPECT_GT(product.slowest, 1);
    EXPECT_EQ(product.memory, 1);
    EXPECT_DOUBLE_EQ(product.seconds(), product.profile * product.clock * product.slowest);
    profile_ = "a100";
    const Pointwise add{PointwiseKind::add, Dtype::bf16, 4096, 4096};
    const KernelPrice same = price(add, "A100-SXM4-80GB"), slower = price(add, "A100-SXM4-40GB");
    EXPECT_EQ(same.seconds(), same.profile);
    EXPECT_EQ(same.explain(), "");
    EXPECT_GT(slower.memory, 1.2);
    EXPECT_EQ(slower.slowest, 1);
    EXPECT_DOUBLE_EQ(slower.seconds(), same.seconds() * slower.memory);
    EXPECT_NE(slower.explain().find("the device's memory beside the profile's: x1.3"), std::string::npos);
}

/// HBM2e, 0.72 of HBM3: 128 outputs of many tokens are 124 operations a byte, 4,096 are 2,000.
TEST_F(KernelPriceTest, ProductsOfFewOperationsAByteWaitForSlowerMemory) {
    const Gemm thin{Dtype::bf16, 1, 98304, 128, 4096}, square{Dtype::bf16, 1, 98304, 4096, 4096};
    const double there = price(thin, "H100-SXM5-80GB").seconds();
    const KernelPrice here = price(thin, "H100-SXM5-96GB");
    EXPECT_GT(here.seconds(), there * 1.1);
    EXPECT_GE(here.seconds(), kernels::bytes(kernels::Kernel(thin)) / 2.41e12);
    EXPECT_EQ(price(square, "H100-SXM5-96GB").seconds(), price(square, "H100-SXM5-80GB").seconds());
}

TEST_F(KernelPriceTest, AttentionIsOfThePlansKernel) {
    const Attention forward{.batch = 1, .seq = 4096, .heads = 16, .kv_heads = 16, .head_dim = 128};
    const double newest = price(forward, "H100-SXM5-80GB").seconds();
    plan_.training.attention_kernel = AttentionKernel::flash_2;
    const KernelPrice older = price(forward, "H100-SXM5-80GB");
    EXPECT_EQ(older.attention_rate, hardware::attention_rates(AttentionKernel::flash_2, 90, {}).forward);
    EXPECT_NEAR(older.seconds() / newest, 1 / older.attention_rate, 1e-12);
}

/// GPT-2's 50,257 words: torch.compile copies the operands that have so many rows or columns, and pays for both.
TEST_F(KernelPriceTest, CompiledProductsOfOddSizesArePadded) {
    profile_ = "a100";
    const char* const gpu = "A100-SXM4-80GB";
    const Gemm odd{Dtype::bf16, 1, 8192, 768, 50257, GemmPass::data_gradient};
    const double eager = price(odd, gpu).seconds();
    plan_.training.software = hardware::Software::pytorch;
    plan_.training.kernel_fusion = strategies::KernelFusion::full;
    Gemm aligned = odd;
    aligned.k = 50264;
    const KernelPrice padded = price(odd, gpu);
    const double whole = price(aligned, gpu).seconds();
    const auto copy = [&](std::uint64_t rows, std::uint64_t cols) {
        return price(Pointwise{PointwiseKind::scale, Dtype::bf16, rows, cols}, gpu).seconds();
    };
    EXPECT_NEAR(padded.copies, copy(8192, 50257) + copy(50257, 768), 1e-9);
    EXPECT_NEAR(padded.seconds(), whole + padded.copies, 1e-9);
    EXPECT_LT(padded.seconds(), eager);
    EXPECT_NE(padded.explain().find("operands copied to aligned rows"), std::string::npos);
    EXPECT_EQ(price(aligned, gpu).copies, 0);
    const Gemm thin{Dtype::bf16, 1, 8192, 8, 50257, GemmPass::data_gradient};
    EXPECT_EQ(price(thin, gpu).copies, 0) << "copies take longer than the product";
}

/// A layer of GPT-3 175B's width.
strategies::Plan wide(std::uint32_t batch) {
    strategies::Plan plan = small_scenario(R"({"model": {"hidden_size": 12288, "num_attention_heads": 96,
        "num_hidden_layers": 4}, "training": {"seq_length": 2048, "fused_attention": true}})")
                                .plan;
    plan.training.global_batch = batch;
    return plan;
}

TEST_F(KernelPriceTest, LargeStepsRunAtAClockThatPowerLeavesThem) {
    const auto clock = [&](const strategies::Plan& plan, const char* gpu, StepClock of = StepClock::of_the_program) {
        const strategies::StepProgram step = strategies::build(plan);
        return KernelPrices(step, plan, topology::find_gpu(gpu), profiles().find(profile_), 8, of).clock();
    };
    const double large = clock(wide(64), "H100-SXM5-80GB");
    EXPECT_GT(large, profiles().find(profile_).constant("sustained_clock")) << "a step is not all products";
    EXPECT_LT(large, 0.95);
    EXPECT_NEAR(clock(wide(256), "H100-SXM5-80GB"), large, 0.005) << "more micro-batches are nearly the same mix";
    EXPECT_EQ(clock(wide(64), "H100-SXM5-80GB", StepClock::highest), 1);
    profile_ = "a100";
    EXPECT_EQ(clock(wide(64), "A100-SXM4-80GB"), 1) << "whose profile does not tell one";
}

/// A board that is held to 500 of its 700 W clocks lower the more, and a profile that knows no clock cannot tell.
TEST_F(KernelPriceTest, BoardsThatAreHeldToLessClockLower) {
    const strategies::Plan plan = wide(64);
    const strategies::StepProgram step = strategies::build(plan);
    const auto clock = [&](const char* name, double watts) {
        hardware::Gpu gpu = topology::find_gpu(name);
        gpu.power_limit_watts = watts;
        return KernelPrices(step, plan, gpu, profiles().find(profile_), 8).clock();
    };
    EXPECT_EQ(clock("H100-SXM5-80GB", 700), clock("H100-SXM5-80GB", 0));
    double before = 0;
    for (const double watts : {300.0, 400.0, 500.0, 600.0, 700.0}) {
        const double now = clock("H100-SXM5-80GB", watts);
        EXPECT_GT(now, before) << watts;
        before = now;
    }
    profile_ = "a100";
    EXPECT_THROW(clock("A100-SXM4-80GB", 300), Error);
}

TEST_F(KernelPriceTest, ALowerClockTakesAttentionAndTheFastestProductsLonger) {
    plan_ = wide(64);
    const Attention attention{.batch = 1, .seq = 8192, .heads = 16, .kv_heads = 16, .head_dim = 128};
    const Gemm product{Dtype::bf16, 1, 8192, 8192, 8192};
    const Pointwise add{PointwiseKind::add, Dtype::bf16, 8192, 8192};
    const strategies::StepProgram step = strategies::build(plan_);
    const auto& gpu = topology::find_gpu("H100-SXM5-80GB");
    const auto& predictor = profiles().find(profile_);
    const KernelPrices own(step, plan_, gpu, predictor, 8), highest(step, plan_, gpu, predictor, 8, StepClock::highest);
    EXPECT_NEAR(own.of(attention).seconds() * own.clock(), highest.of(attention).seconds(), 1e-9);
    EXPECT_GE(own.of(product).seconds(), highest.of(product).seconds());
    EXPECT_EQ(own.of(add).seconds(), highest.of(add).seconds());
    EXPECT_NE(own.of(attention).explain().find("the clock that the power limit leaves this step"), std::string::npos);
}

TEST_F(KernelPriceTest, WeightGradientsAreAddedToSumsOnTopOnHopper) {
    plan_.training.gradient_accumulation_fusion = true;
    const KernelPrice wgrad =
        price(Gemm{Dtype::bf16, 1, 4096, 4096, 4096, GemmPass::weight_gradient}, "H100-SXM5-80GB");
    EXPECT_GT(wgrad.sums, 0);
    EXPECT_DOUBLE_EQ(wgrad.seconds(), wgrad.alone() + wgrad.sums);
    EXPECT_NE(wgrad.explain().find("added to sums of gradients: "), std::string::npos);
}

}  // namespace
}  // namespace orrery::sim
