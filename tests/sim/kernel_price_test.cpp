// Which kernels wait for the slowest board, have their attention's rate, the device's memory, or add to sums.
#include "sim/kernel_price.hpp"

#include <gtest/gtest.h>

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

TEST_F(KernelPriceTest, AttentionIsOfThePlansKernel) {
    const Attention forward{.batch = 1, .seq = 4096, .heads = 16, .kv_heads = 16, .head_dim = 128};
    const double newest = price(forward, "H100-SXM5-80GB").seconds();
    plan_.training.attention_kernel = AttentionKernel::flash_2;
    const KernelPrice older = price(forward, "H100-SXM5-80GB");
    EXPECT_EQ(older.attention_rate, hardware::attention_rates(AttentionKernel::flash_2, 90, 128).forward);
    EXPECT_NEAR(older.seconds() / newest, 1 / older.attention_rate, 1e-12);
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
