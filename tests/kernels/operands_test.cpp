#include "kernels/operands.hpp"

#include <gtest/gtest.h>

#include <set>

#include "base/error.hpp"

namespace orrery::kernels {
namespace {

using enum PointwiseKind;

std::uint64_t extra_bytes(const Pointwise& p) {
    // What the vocabulary's bytes() leave out: vectors of a row or a column, and tables that stay in a cache.
    const std::uint64_t d = size_of(p.dtype), rows = p.rows, cols = p.cols;
    switch (p.kind) {
        case layernorm: return 2 * d * cols + 8 * rows;
        case layernorm_backward: return (d + 8) * cols + 8 * rows;
        case rmsnorm: return d * cols + 4 * rows;
        case rmsnorm_backward: return (d + 4) * cols + 4 * rows;
        case gelu:
        case gelu_backward:
        case bias_dropout_add:
        case bias_gradient: return d * cols;
        case rope:
        case rope_backward: return 4 * std::min(rows, rope_positions) * rope_head(cols);
        case embedding:
        case embedding_backward:
        case cross_entropy_backward:
        case cross_entropy_maximum:
        case permute: return 4 * rows;
        case cross_entropy_part: return 16 * rows;
        case cross_entropy_part_backward:
        case cross_entropy:
        case unpermute: return 8 * rows;
        case moe_gate: return 8 * moe_top_k * rows;
        case softmax_merge: return 8 * rows * (cols / rope_head(cols));
        case sum_of_squares: return 4;
        default: return 0;
    }
}

/// Bytes that cross the memory: an operand that is updated in place does so twice.
double moved(const Kernel& kernel) {
    double bytes = 0;
    for (const Operand& operand : operands(kernel))
        bytes += static_cast<double>(operand.bytes()) * (operand.role == Role::in_out ? 2 : 1);
    return bytes;
}

TEST(Operands, OfMemoryBoundKernelsMoveTheirBytes) {
    for (int i = 0; i < pointwise_kinds; ++i)
        for (const Dtype dtype : {Dtype::fp32, Dtype::bf16, Dtype::fp8}) {
            const Pointwise p{static_cast<PointwiseKind>(i), dtype, 6, 40};
            EXPECT_EQ(moved(p), bytes(p) + static_cast<double>(extra_bytes(p))) << to_text(p);
        }
}

TEST(Operands, OfGemmsMoveTheirBytes) {
    for (const Dtype dtype : {Dtype::fp32, Dtype::tf32, Dtype::fp16, Dtype::fp8})
        for (const GemmPass pass : {GemmPass::forward, GemmPass::data_gradient, GemmPass::weight_gradient}) {
            const Gemm g{dtype, 3, 5, 7, 11, pass};
            EXPECT_EQ(moved(g), bytes(g)) << to_text(g);
        }
}

TEST(Operands, OfAttentionMoveItsBytesAndTheLogSumExp) {
    Attention a{.dtype = Dtype::bf16, .batch = 2, .seq = 5, .heads = 6, .kv_heads = 3, .head_dim = 4};
    for (const bool backward : {false, true}) {
        a.backward = backward;
        EXPECT_EQ(moved(a), bytes(a) + 4 * 2 * 5 * 6);
    }
}

TEST(Operands, HaveNamesOfTheirOwnAndAnOutput) {
    for (int i = 0; i < pointwise_kinds; ++i) {
        std::set<std::string_view> names;
        bool writes = false;
        for (const Operand& operand : operands(Pointwise{static_cast<PointwiseKind>(i), Dtype::fp16, 4, 8})) {
            EXPECT_TRUE(names.insert(operand.name).second) << operand.name;
            EXPECT_GT(operand.elements, 0u);
            EXPECT_EQ(operand.fill == Fill::poison, operand.role == Role::out);
            writes = writes || operand.role != Role::in;
        }
        EXPECT_TRUE(writes) << name(static_cast<PointwiseKind>(i));
    }
}

TEST(Operands, ThatTheForwardComputesAreAmongItsOutputs) {
    const Attention attention{.backward = true, .batch = 1, .seq = 2, .heads = 2, .kv_heads = 1, .head_dim = 4};
    for (const Kernel& kernel : {Kernel(attention), Kernel(Pointwise{layernorm_backward, Dtype::bf16, 2, 4}),
                                 Kernel(Pointwise{rmsnorm_backward, Dtype::bf16, 2, 4})}) {
        ASSERT_TRUE(forward_of(kernel).has_value());
        const auto outputs = operands(*forward_of(kernel));
        int found = 0;
        for (const Operand& operand : operands(kernel)) {
            if (operand.fill != Fill::forward) continue;
            for (const Operand& output : outputs)
                found += output.name == operand.name && output.role == Role::out && output.format == operand.format &&
                         output.elements == operand.elements;
            --found;
        }
        EXPECT_EQ(found, 0) << to_text(kernel);
    }
    EXPECT_FALSE(forward_of(Gemm{}).has_value());
    EXPECT_FALSE(forward_of(Pointwise{gelu_backward}).has_value());
}

TEST(Operands, RefuseShapesThatNoDeviceCanRun) {
    EXPECT_THROW(operands(Gemm{Dtype::fp32, 1, 0, 2, 3}), Error);
    EXPECT_THROW(operands(Attention{.batch = 1, .seq = 2, .heads = 3, .kv_heads = 2, .head_dim = 4}), Error);
    EXPECT_THROW(operands(Attention{.batch = 1, .seq = 2, .heads = 3, .kv_heads = 0, .head_dim = 4}), Error);
    EXPECT_THROW(operands(Pointwise{add, Dtype::fp32, 0, 3}), Error);
    EXPECT_THROW(operands(Pointwise{rope, Dtype::fp32, 4, 3}), Error);
    EXPECT_THROW(operands(Pointwise{moe_gate, Dtype::fp32, 4, 1}), Error);
    EXPECT_THROW(operands(Pointwise{permute, Dtype::fp32, 3, 4}), Error);
}

TEST(RopeHead, IsTheLargestPowerOfTwoThatDivides) {
    EXPECT_EQ(rope_head(4096), 128u);
    EXPECT_EQ(rope_head(192), 64u);
    EXPECT_EQ(rope_head(6), 2u);
}

}  // namespace
}  // namespace orrery::kernels
