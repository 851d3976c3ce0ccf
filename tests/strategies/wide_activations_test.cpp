// Activations in fp32 between products of 16 bits: the residual stream, and activation functions.
#include <gtest/gtest.h>

#include "models/operators.hpp"
#include "strategies/build.hpp"
#include "strategies/partition/tensor.hpp"
#include "tests/strategies/tiny_plan.hpp"

namespace orrery::strategies {
namespace {

using kernels::Dtype;
using kernels::Pointwise;

Plan in_bf16() {
    Plan plan = tiny_plan();
    plan.training.precision.compute = Dtype::bf16;
    return plan;
}

ShardedLayer block(const Plan& plan) { return shard(models::build(plan.model).layer("block"), plan); }

const Pointwise& first_kernel(const ShardedLayer& layer, std::string_view piece) {
    for (const Piece& each : layer.pieces)
        if (each.name == piece) return std::get<Pointwise>(std::get<kernels::Kernel>(each.forward.front().what));
    throw std::out_of_range(std::string(piece));
}

TEST(WideActivations, TheResidualStreamIsKeptAndSentInFp32) {
    Plan plan = in_bf16();
    const ShardedLayer narrow = block(plan);
    plan.training.fp32_residual_connection = true;
    const ShardedLayer wide = block(plan);
    EXPECT_EQ(wide.input_bytes, 2 * narrow.input_bytes);
    EXPECT_GT(wide.saved_bytes(), narrow.saved_bytes());
    EXPECT_EQ(first_kernel(wide, "residual add").dtype, Dtype::fp32);
    EXPECT_EQ(first_kernel(narrow, "residual add").dtype, Dtype::bf16);
    EXPECT_EQ(first_kernel(wide, "gelu").dtype, Dtype::bf16);
}

TEST(WideActivations, ActivationFunctionsAreAKeyOfTheirOwn) {
    Plan plan = in_bf16();
    const ShardedLayer narrow = block(plan);
    plan.training.fp32_activation_function = true;
    const ShardedLayer wide = block(plan);
    EXPECT_EQ(first_kernel(wide, "gelu").dtype, Dtype::fp32);
    EXPECT_EQ(first_kernel(wide, "residual add").dtype, Dtype::bf16);
    EXPECT_EQ(wide.input_bytes, narrow.input_bytes);
    EXPECT_GT(wide.saved_bytes(), narrow.saved_bytes());
}

TEST(WideActivations, AlreadyWideOnesStayAsTheyAre) {
    Plan plan = tiny_plan();
    plan.training.precision.compute = Dtype::tf32;
    const std::string before = to_text(build(plan), 0);
    plan.training.fp32_residual_connection = plan.training.fp32_activation_function = true;
    EXPECT_EQ(to_text(build(plan), 0), before);
}

TEST(WideActivations, WhereEachOperationIsAKernelTheyAreCast) {
    Plan plan = in_bf16();
    plan.training.kernel_fusion = KernelFusion::primitives;
    plan.training.fp32_residual_connection = plan.training.fp32_activation_function = true;
    int casts = 0;
    for (const Piece& piece : block(plan).pieces)
        if (piece.name == "gelu")
            for (const auto* list : {&piece.forward, &piece.backward})
                for (const Work& work : *list) casts += work.name.ends_with(" cast") ? 1 : 0;
    EXPECT_EQ(casts, 4) << "into fp32 and back, forward and backward";
}

/// Casts are no tensors of a layer's flow: such a step is priced, and its operands are not held against contracts.
TEST(WideActivations, ArePricedAlone) {
    for (models::ModelSpec model : {tiny_gpt(), tiny_llama(), tiny_bert()})
        for (const bool stream : {false, true}) {
            Plan plan = in_bf16();
            plan.model = model;
            plan.model.dropout = 0;
            plan.training.fused_attention = true;
            EXPECT_TRUE(block(plan).flow.complete) << model.name;
            (stream ? plan.training.fp32_residual_connection : plan.training.fp32_activation_function) = true;
            EXPECT_FALSE(block(plan).flow.complete) << model.name;
            EXPECT_EQ(verify(build(plan)), std::vector<std::string>{}) << model.name;
        }
}

}  // namespace
}  // namespace orrery::strategies
