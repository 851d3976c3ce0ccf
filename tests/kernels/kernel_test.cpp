#include "kernels/kernel.hpp"

#include <gtest/gtest.h>

#include <array>
#include <set>

#include "base/error.hpp"

namespace orrery::kernels {
namespace {

constexpr std::array<Dtype, 6> dtypes{Dtype::fp32, Dtype::tf32, Dtype::fp16, Dtype::bf16, Dtype::fp8, Dtype::fp4};

TEST(Dtype, HasItsSizeAndItsName) {
    constexpr std::array<std::uint32_t, 6> sizes{4, 4, 2, 2, 1, 1};
    for (std::size_t i = 0; i < dtypes.size(); ++i) {
        EXPECT_EQ(size_of(dtypes[i]), sizes[i]);
        EXPECT_EQ(dtype_from(name(dtypes[i])), dtypes[i]);
    }
    EXPECT_THROW(dtype_from("float16"), Error);
    EXPECT_THROW(dtype_from(""), Error);
}

TEST(GemmKernel, CountsAMultiplyAddAsTwo) {
    EXPECT_DOUBLE_EQ(flops(Gemm{Dtype::bf16, 1, 2, 3, 5}), 60.0);
    EXPECT_DOUBLE_EQ(flops(Gemm{Dtype::bf16, 7, 2, 3, 5}), 420.0);
}

TEST(GemmKernel, MovesEachOperandOnce) {
    // 2x5 and 5x3 in, 2x3 out.
    EXPECT_DOUBLE_EQ(bytes(Gemm{Dtype::bf16, 1, 2, 3, 5}), 2.0 * (10 + 15 + 6));
    EXPECT_DOUBLE_EQ(bytes(Gemm{Dtype::fp32, 4, 2, 3, 5}), 4 * 4.0 * (10 + 15 + 6));
    EXPECT_DOUBLE_EQ(bytes(Gemm{Dtype::fp8, 1, 2, 3, 5}), 10 + 15 + 2.0 * 6);  // written in 16 bits
    // Two in a byte, and a scale of one for each 16.
    EXPECT_DOUBLE_EQ(bytes(Gemm{Dtype::fp4, 1, 16, 32, 48}), (768 + 1536) * (0.5 + 1.0 / 16) + 2.0 * 512);
}

TEST(GemmKernel, BothGradientsDoTheWorkOfTheForward) {
    constexpr std::uint32_t m = 2048, n = 6144, k = 12288;
    const double forward = flops(Gemm{Dtype::bf16, 1, m, n, k});
    EXPECT_DOUBLE_EQ(flops(Gemm{Dtype::bf16, 1, m, k, n}), forward);
    EXPECT_DOUBLE_EQ(flops(Gemm{Dtype::bf16, 1, k, n, m}), forward);
}

TEST(GemmKernel, DoesNotOverflowThirtyTwoBits) {
    constexpr std::uint32_t large = 1u << 20;
    EXPECT_DOUBLE_EQ(flops(Gemm{Dtype::bf16, 8, large, large, large}), 0x1p64);
    EXPECT_DOUBLE_EQ(bytes(Gemm{Dtype::bf16, 1, large, large, large}), 3 * 0x1p41);
}

TEST(GemmKernel, IntensityOfASquareProductIsAThirdOfItsSide) {
    EXPECT_DOUBLE_EQ(intensity(Gemm{Dtype::bf16, 1, 3072, 3072, 3072}), 1024.0);  // 2 n^3 / (3 * 2 n^2)
}

Attention attention() {
    return {.dtype = Dtype::bf16, .batch = 2, .seq = 1024, .heads = 12, .kv_heads = 12, .head_dim = 128};
}

TEST(AttentionKernel, CountsTwoProductsForwardAndFiveBackward) {
    Attention a = attention();
    a.causal = false;
    const double product = 2.0 * 2 * 12 * 1024 * 1024 * 128;
    EXPECT_DOUBLE_EQ(flops(a), 2 * product);
    a.backward = true;
    EXPECT_DOUBLE_EQ(flops(a), 5 * product);
}

TEST(AttentionKernel, CausalIsHalf) {
    for (const bool backward : {false, true}) {
        Attention a = attention();
        a.backward = backward;
        const double causal = flops(a);
        a.causal = false;
        EXPECT_DOUBLE_EQ(flops(a), 2 * causal);
    }
}

TEST(AttentionKernel, GroupedQueriesMoveLessAndComputeTheSame) {
    const Attention all = attention();
    Attention grouped = all;
    grouped.kv_heads = 3;
    EXPECT_DOUBLE_EQ(flops(grouped), flops(all));
    const double head_bytes = 2.0 * 2 * 1024 * 128;                 // one head of one tensor: two bytes, two sequences
    EXPECT_DOUBLE_EQ(bytes(all), (12 + 12 + 2 * 12) * head_bytes);  // Q, O and K, V
    EXPECT_DOUBLE_EQ(bytes(grouped), (12 + 12 + 2 * 3) * head_bytes);
    grouped.backward = true;  // Q O dO dQ and K V dK dV
    EXPECT_DOUBLE_EQ(bytes(grouped), (4 * 12 + 4 * 3) * head_bytes);
}

TEST(AttentionKernel, MovesNothingThatGrowsWithTheSquareOfTheSequence) {
    const Attention once = attention();
    Attention twice = once;
    twice.seq *= 2;
    EXPECT_DOUBLE_EQ(bytes(twice), 2 * bytes(once));
    EXPECT_DOUBLE_EQ(flops(twice), 4 * flops(once));
}

TEST(KernelText, IsAsDocumented) {
    EXPECT_EQ(to_text(Gemm{Dtype::bf16, 1, 2048, 6144, 12288}), "gemm bf16 1x2048x6144x12288");
    Attention a = attention();
    EXPECT_EQ(to_text(a), "attention bf16 b2 s1024 h12 kv12 d128 causal");
    a.backward = true;
    a.causal = false;
    EXPECT_EQ(to_text(a), "attention-backward bf16 b2 s1024 h12 kv12 d128");
    EXPECT_EQ(to_text(Pointwise{PointwiseKind::layernorm, Dtype::bf16, 2048, 12288}), "layernorm bf16 2048x12288");
}

TEST(KernelText, DiffersWhereverTheKernelDoes) {
    std::set<std::string> seen;
    const auto add = [&seen](const Kernel& kernel) {
        EXPECT_TRUE(seen.insert(to_text(kernel)).second) << to_text(kernel);
    };
    for (const Dtype dtype : dtypes) {
        add(Gemm{dtype, 1, 2, 3, 4});
        add(Attention{.dtype = dtype, .batch = 1, .seq = 2, .heads = 3, .kv_heads = 3, .head_dim = 4});
        add(Pointwise{PointwiseKind::add, dtype, 2, 3});
    }
    add(Gemm{Dtype::bf16, 2, 2, 3, 4});
    add(Gemm{Dtype::bf16, 1, 3, 2, 4});
    add(Gemm{Dtype::bf16, 1, 2, 4, 3});
    add(Gemm{Dtype::bf16, 12, 3, 4, 5});
    add(Gemm{Dtype::bf16, 1, 23, 4, 5});
    Attention a{.dtype = Dtype::bf16, .batch = 1, .seq = 2, .heads = 3, .kv_heads = 1, .head_dim = 4};
    add(a);
    a.causal = false;
    add(a);
    a.backward = true;
    add(a);
    add(Pointwise{PointwiseKind::scale, Dtype::bf16, 2, 3});
    add(Pointwise{PointwiseKind::add, Dtype::bf16, 3, 2});
}

TEST(KernelEquality, SeesEveryField) {
    const Kernel gemm = Gemm{Dtype::bf16, 1, 2, 3, 4};
    EXPECT_EQ(gemm, Kernel(Gemm{Dtype::bf16, 1, 2, 3, 4}));
    EXPECT_NE(gemm, Kernel(Gemm{Dtype::fp16, 1, 2, 3, 4}));
    EXPECT_NE(gemm, Kernel(Gemm{Dtype::bf16, 1, 2, 3, 5}));
    EXPECT_NE(gemm, Kernel(Pointwise{}));
}

}  // namespace
}  // namespace orrery::kernels
