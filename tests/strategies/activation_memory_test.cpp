// Activations of one layer against Korthikanti et al. 2022, "Reducing Activation Recomputation in Large Transformer
// Models".
#include <gtest/gtest.h>

#include <algorithm>

#include "models/operators.hpp"
#include "strategies/layer_blocks.hpp"
#include "tests/strategies/tiny_plan.hpp"

namespace orrery::strategies {
namespace {

/// s b h of tiny_plan, and 5 a s / h.
constexpr double sbh = 128.0 * 2 * 64, scores = 5.0 * 4 * 128 / 64;

double saved(const Plan& plan, Recompute recompute = Recompute::none) {
    StepProgram step;
    Intern intern(step);
    return static_cast<double>(
        add_blocks(step, intern, shard(models::build(plan.model).layer("block"), plan), recompute).saved_bytes);
}

Plan with_tensor(std::uint32_t tensor, bool sequence_parallel) {
    Plan plan = tiny_plan(tensor);
    plan.strategy.sequence_parallel = sequence_parallel;
    return plan;
}

TEST(ActivationMemory, EquationOneWithoutParallelism) {
    EXPECT_DOUBLE_EQ(saved(with_tensor(1, false)), sbh * (34 + scores));
}

TEST(ActivationMemory, EquationTwoWithTensorParallelism) {
    for (const std::uint32_t t : {2U, 4U})
        EXPECT_DOUBLE_EQ(saved(with_tensor(t, false)), sbh * (10 + 24.0 / t + scores / t)) << t;
}

TEST(ActivationMemory, EquationFourWithSequenceParallelism) {
    for (const std::uint32_t t : {2U, 4U}) EXPECT_DOUBLE_EQ(saved(with_tensor(t, true)), sbh / t * (34 + scores)) << t;
}

TEST(ActivationMemory, EquationSixWithSelectiveRecomputation) {
    EXPECT_DOUBLE_EQ(saved(with_tensor(1, false), Recompute::selective), sbh * 34);
    for (const std::uint32_t t : {2U, 4U}) {
        EXPECT_DOUBLE_EQ(saved(with_tensor(t, true), Recompute::selective), sbh * 34 / t) << t;
        EXPECT_DOUBLE_EQ(saved(with_tensor(t, false), Recompute::selective), sbh * (10 + 24.0 / t)) << t;
    }
}

/// Table 2 gives 2 s b h; under sequence parallelism the input itself is split.
TEST(ActivationMemory, FullRecomputationKeepsTheInput) {
    EXPECT_DOUBLE_EQ(saved(with_tensor(1, false), Recompute::full), sbh * 2);
    EXPECT_DOUBLE_EQ(saved(with_tensor(4, false), Recompute::full), sbh * 2);
    EXPECT_DOUBLE_EQ(saved(with_tensor(4, true), Recompute::full), sbh * 2 / 4);
}

TEST(ActivationMemory, DropoutMasksAreOneByteAnElement) {
    Plan plan = with_tensor(1, false);
    plan.model.dropout = 0;
    // two masks of the hidden width; of the scores, mask and output of the dropout
    EXPECT_DOUBLE_EQ(saved(plan), sbh * (32 + scores * 2 / 5));
}

/// Fused attention keeps Q, K, V and one fp32 number a row and head.
TEST(ActivationMemory, FusedAttentionKeepsNoScores) {
    Plan plan = with_tensor(1, false);
    plan.training.fused_attention = true;
    EXPECT_DOUBLE_EQ(saved(plan), sbh * 34 + 128.0 * 2 * 4 * 4);
    EXPECT_DOUBLE_EQ(saved(plan, Recompute::selective), sbh * 34);
}

TEST(ActivationMemory, Fp32TakesTwiceTheBytesButForMasks) {
    Plan plan = with_tensor(1, false);
    plan.training.precision = {kernels::Dtype::fp32, kernels::Dtype::fp32};
    EXPECT_DOUBLE_EQ(saved(plan), sbh * (2 * 32 + 2 + scores * (2 * 4 + 1) / 5));
}

/// Key-value heads fewer than query heads shrink keys and values; SwiGLU keeps two inputs and one product.
TEST(ActivationMemory, LlamaLayer) {
    Plan plan = tiny_plan();
    plan.model = tiny_llama();
    plan.training.fused_attention = true;
    const double tokens = 128 * 2, h = 64, ffn = 192, kv = 2 * 2 * 16;
    const double elements = h + h + (h + kv) + h + h + h + 2 * ffn + ffn;  // norm, qkv, core, projection, norm, up, ...
    EXPECT_DOUBLE_EQ(saved(plan), tokens * (2 * elements + 4 * 4));
}

/// Transformer Engine keeps the operand that was cast, a byte of 7 s b h elements; attention its results beside it.
TEST(ActivationMemory, NarrowProductsKeepTheirCasts) {
    Plan plan = with_tensor(1, false);
    plan.training.fused_attention = true;
    const double wide = saved(plan), lse = 128.0 * 2 * 4 * 4;
    plan.training.precision = {kernels::Dtype::fp8, kernels::Dtype::fp32};
    EXPECT_DOUBLE_EQ(saved(plan), wide) << "other software casts again";
    plan.training.software = hardware::Software::transformer_engine;
    EXPECT_DOUBLE_EQ(saved(plan), wide + sbh * (2 - 7));
    EXPECT_DOUBLE_EQ(saved(plan, Recompute::selective), wide - lse - sbh * 7) << "results are formed again";
    plan.training.fp8_attention = true;
    EXPECT_DOUBLE_EQ(saved(plan), wide + sbh * (2 - 7 - 4)) << "queries, keys, values and results";
    plan.training.fp8_attention = false;
    plan.training.precision.compute = kernels::Dtype::fp4;
    EXPECT_DOUBLE_EQ(saved(plan), wide + sbh * (-12 + 6 * 9 / 16.0)) << "the projection keeps attention's results";
    plan.training.precision.compute = kernels::Dtype::fp8;
    plan.training.fp8_recipe = Fp8Recipe::tensorwise;
    EXPECT_DOUBLE_EQ(saved(plan), wide + sbh * -6);
    EXPECT_DOUBLE_EQ(saved(plan, Recompute::selective), wide - lse - sbh * 6);
    plan.training.fp8_attention = true;
    plan.strategy.recompute = Recompute::selective;
    EXPECT_DOUBLE_EQ(saved(plan, Recompute::selective), wide - lse - sbh * 6) << "what runs again begins in 16 bits";
    plan.strategy.recompute = Recompute::none;
    plan.strategy.context = 2;
    const auto of = [&](ContextExchange how, bool narrow) {
        plan.strategy.context_exchange = how;
        plan.training.fp8_recipe = narrow ? Fp8Recipe::delayed : Fp8Recipe::tensorwise;
        plan.training.fp8_attention = false;
        return saved(plan);
    };
    for (const ContextExchange how : {ContextExchange::p2p, ContextExchange::all_gather})
        EXPECT_DOUBLE_EQ(of(how, true), of(how, false) + sbh / 2) << "results in 16 bits beside their cast";
    EXPECT_DOUBLE_EQ(of(ContextExchange::a2a, true), of(ContextExchange::a2a, false) - sbh / 2)
        << "what left attention is kept with its exchange";
}

/// Both halves of what goes into a SwiGLU; what it leaves stays as it is.
TEST(ActivationMemory, ASwigluMayKeepItsInputInFp8) {
    Plan plan = tiny_plan();
    plan.model = tiny_llama();
    plan.training.fused_attention = true;
    const double wide = saved(plan);
    plan.training.fp8_function_input = true;
    EXPECT_DOUBLE_EQ(saved(plan), wide - 128 * 2 * 2 * 192);
}

/// The activation in BERT's head works on the residual stream, split along the sequence or not at all.
TEST(ActivationMemory, BertHeadIsNotSplitAlongItsWidth) {
    for (const bool sequence_parallel : {false, true})
        for (const std::uint32_t ffn : {256U, 64U}) {  // the second is as wide as the residual stream
            Plan plan = with_tensor(2, sequence_parallel);
            plan.model = tiny_bert();
            plan.model.ffn = ffn;
            const ShardedLayer head = shard(models::build(plan.model).layer("head"), plan);
            const auto gelu = std::find_if(head.pieces.begin(), head.pieces.end(),
                                           [](const Piece& piece) { return piece.name == "gelu"; });
            ASSERT_NE(gelu, head.pieces.end());
            EXPECT_DOUBLE_EQ(static_cast<double>(gelu->saved_bytes), 2 * sbh / (sequence_parallel ? 2 : 1));
        }
}

}  // namespace
}  // namespace orrery::strategies
