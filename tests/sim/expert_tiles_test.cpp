// Products of experts in a TPU's tiles.
#include "sim/expert_tiles.hpp"

#include <gtest/gtest.h>

namespace orrery::sim {
namespace {

using kernels::Gemm;
using kernels::GemmPass;

/// 64 experts of 1,408 in layers of 2,048, gated, on one chip.
strategies::Plan plan() {
    strategies::Plan plan;
    plan.model.hidden = 2048;
    plan.model.experts = 64;
    plan.model.expert_ffn = 1408;
    plan.model.gated = true;
    return plan;
}

const hardware::Gpu& chip() { return *hardware::find("TPU-v5p"); }

double share(const Gemm& gemm, const strategies::Plan& of = plan()) { return tiled_share(gemm, of, chip()); }

constexpr auto bf16 = kernels::Dtype::bf16;

TEST(ExpertTiles, AreSharedByNeighboursAndPadded) {
    const double rows = (576.0 + 63) / 576, ffn = 2048.0 / 1408;  // 64 times 4,608 rows are 576 tiles of 512
    EXPECT_DOUBLE_EQ(share({bf16, 64, 4608, 2 * 1408, 2048}), rows * ffn) << "gate and upper half, each by itself";
    EXPECT_DOUBLE_EQ(share({bf16, 64, 4608, 2048, 1408}), rows * ffn);
    EXPECT_DOUBLE_EQ(share({bf16, 64, 4608, 2048, 2 * 1408, GemmPass::data_gradient}), rows * ffn);
    EXPECT_DOUBLE_EQ(share({bf16, 64, 2048, 2 * 1408, 4608, GemmPass::weight_gradient}), rows * ffn);
}

TEST(ExpertTiles, OfManyRowsAndWholeSizesCostNothing) {
    strategies::Plan wide = plan();
    wide.model.expert_ffn = 4096;
    EXPECT_NEAR(share({bf16, 64, 1U << 22U, 4096, 2048}, wide), 1, 1e-3);
    double last = 1e9;
    for (std::uint32_t rows = 64; rows <= 1U << 20U; rows *= 2) {
        const double now = share({bf16, 64, rows, 4096, 2048}, wide);
        EXPECT_LE(now, last) << rows;
        EXPECT_GE(now, 1);
        last = now;
    }
}

TEST(ExpertTiles, AreMegabloxsOnly) {
    const Gemm product{bf16, 64, 4608, 2048, 1408};
    EXPECT_EQ(tiled_share(product, plan(), *hardware::find("H100")), 1) << "GPUs have other kernels";
    EXPECT_EQ(share({bf16, 1, 4608, 2048, 1408}), 1) << "no product of experts";
    strategies::Plan capacity = plan();
    capacity.training.expert_capacity = 1;
    EXPECT_EQ(share(product, capacity), 1) << "products of as many rows each";
    strategies::Plan divided = plan();
    divided.strategy.expert = 4;
    EXPECT_EQ(share(product, divided), 1) << "a rank has 16 of them";
    EXPECT_GT(share({bf16, 16, 4608, 2048, 1408}, divided), 1);
    EXPECT_EQ(tiled_share(kernels::Attention{bf16, false, true, 1, 4096, 16, 16, 128}, plan(), chip()), 1);
}

}  // namespace
}  // namespace orrery::sim
