// torch.autocast: weights in fp32, of which each product takes a copy in 16 bits.
#include <gtest/gtest.h>

#include <algorithm>

#include "models/operators.hpp"
#include "strategies/build.hpp"
#include "strategies/partition/tensor.hpp"
#include "strategies/state_bytes.hpp"
#include "tests/strategies/tiny_plan.hpp"

namespace orrery::strategies {
namespace {

using kernels::Dtype;
using kernels::Pointwise;
using kernels::PointwiseKind;

Plan in_pytorch(KernelFusion fusion = KernelFusion::operators) {
    Plan plan = tiny_plan();
    plan.training.precision = {.compute = Dtype::bf16, .grad_reduce = Dtype::fp32};
    plan.training.software = hardware::Software::pytorch;
    plan.training.kernel_fusion = fusion;
    plan.training.gradient_accumulation_fusion = false;
    return plan;
}

Plan cast(Plan plan = in_pytorch()) {
    plan.training.autocast = true;
    return plan;
}

ShardedLayer layer_of(const Plan& plan, const char* name = "block") {
    return shard(models::build(plan.model).layer(name), plan);
}

/// Elements that casts of the layer read whose names end so.
std::uint64_t cast_elements(const ShardedLayer& layer, bool forward, std::string_view ending) {
    std::uint64_t sum = 0;
    for (const Piece& piece : layer.pieces)
        for (const Work& work : forward ? piece.forward : piece.backward) {
            if (!work.name.ends_with(ending)) continue;
            const auto& pass = std::get<Pointwise>(std::get<kernels::Kernel>(work.what));
            EXPECT_EQ(pass.kind, PointwiseKind::cast) << work.name;
            EXPECT_EQ(pass.dtype, Dtype::bf16) << work.name;
            sum += pass.rows * pass.cols;
        }
    return sum;
}

/// Of weights and biases of products; norms have none.
std::uint64_t product_parameters(const ShardedLayer& layer) {
    std::uint64_t sum = 0;
    for (const Piece& piece : layer.pieces)
        if (std::ranges::any_of(piece.forward, [](const Work& work) {
                const auto* kernel = std::get_if<kernels::Kernel>(&work.what);
                return kernel != nullptr && std::holds_alternative<kernels::Gemm>(*kernel);
            }))
            sum += piece.counts.trained;
    return sum;
}

TEST(Autocast, EachWeightIsCastBeforeItsProductAndItsGradientBack) {
    const ShardedLayer layer = layer_of(cast());
    const std::uint64_t numbers = product_parameters(layer);
    ASSERT_GT(numbers, 0U);
    EXPECT_EQ(cast_elements(layer, true, "weight to 16 bits") + cast_elements(layer, true, "bias to 16 bits"), numbers);
    EXPECT_EQ(
        cast_elements(layer, false, "weight gradient to fp32") + cast_elements(layer, false, "bias gradient to fp32"),
        numbers);
    EXPECT_EQ(cast_elements(layer_of(in_pytorch()), true, "to 16 bits"), 0U);
}

/// What the norms leave is fp32, and what branches end with joins a stream that is.
TEST(Autocast, WhatComesFromTheStreamIsCastAndItsGradientBack) {
    const Plan plan = cast();
    const ShardedLayer layer = layer_of(plan);
    const std::uint64_t stream = plan.rank_tokens() * plan.model.hidden;
    EXPECT_EQ(cast_elements(layer, true, "input to 16 bits"), 2 * stream)
        << "queries with keys and values, and the MLP";
    EXPECT_EQ(cast_elements(layer, false, "input gradient to fp32"), 2 * stream);
    EXPECT_EQ(cast_elements(layer, false, "residual add gradient to 16 bits"), 2 * stream);
    EXPECT_EQ(layer.input_bytes, stream * 4);
}

TEST(Autocast, CopiesOfWeightsAreKeptForTheBackward) {
    Plan beside = in_pytorch();
    beside.training.fused_attention = true;
    const ShardedLayer layer = layer_of(cast(beside));
    beside.training.fp32_residual_connection = true;
    EXPECT_EQ(layer.saved_bytes(), layer_of(beside).saved_bytes() + 2 * product_parameters(layer));
}

/// 4 bytes of a weight, 4 of its gradient and 8 of Adam's moments: no other weight lies beside it.
TEST(Autocast, StatesAreThoseOfTrainingInFp32) {
    Plan wide = in_pytorch();
    wide.training.precision.compute = Dtype::fp32;
    const StateBytes fp32 = state_bytes(wide.training), own = state_bytes(cast().training);
    EXPECT_EQ(own.weight, fp32.weight);
    EXPECT_EQ(own.gradient, fp32.gradient);
    EXPECT_EQ(own.optimizer, fp32.optimizer);
    EXPECT_EQ(own.gradient_copy, fp32.gradient_copy);
}

TEST(Autocast, ACompilerJoinsCastsOfActivationsAndNotThoseOfWeights) {
    const ShardedLayer layer = layer_of(cast(in_pytorch(KernelFusion::full)));
    EXPECT_EQ(cast_elements(layer, true, "input to 16 bits"), 0U);
    EXPECT_EQ(cast_elements(layer, false, "gradient to 16 bits"), 0U);
    EXPECT_EQ(cast_elements(layer, true, "weight to 16 bits") + cast_elements(layer, true, "bias to 16 bits"),
              product_parameters(layer));
}

TEST(Autocast, SoftmaxAndTheDropoutBehindItAreInFp32) {
    Plan plan = cast();
    plan.training.fused_attention = false;
    plan.model.dropout = 0.1;
    std::size_t seen = 0;
    for (const Piece& piece : layer_of(plan).pieces)
        for (const auto* list : {&piece.forward, &piece.backward})
            for (const Work& work : *list)
                if (work.name.starts_with("softmax") || work.name.starts_with("attention dropout")) {
                    EXPECT_EQ(std::get<Pointwise>(std::get<kernels::Kernel>(work.what)).dtype, Dtype::fp32)
                        << work.name;
                    ++seen;
                }
    EXPECT_EQ(seen, 4U);
}

/// FSDP without a MixedPrecision gathers weights, and scatters gradients, in fp32; adapters' base is cast, too.
TEST(Autocast, GathersWeightsAsTheyAre) {
    const auto gathered = [](const Plan& plan) {
        const StepProgram step = build(plan);
        EXPECT_EQ(verify(step), std::vector<std::string>{});
        std::uint64_t bytes = 0;
        for (const Program& program : step.programs)
            for (const Op& op : program.ops)
                if (const auto* collective = std::get_if<Collective>(&op.what))
                    bytes += collective->kind == kernels::CollectiveKind::all_gather ? collective->bytes : 0;
        return bytes;
    };
    Plan sharded = in_pytorch();
    sharded.strategy.data = 2;
    sharded.training.global_batch *= 2;
    sharded.strategy.sharding = Sharding::zero3;
    EXPECT_EQ(gathered(cast(sharded)), 2 * gathered(sharded));
    for (const Optimizer optimizer : {Optimizer::adam, Optimizer::muon}) {
        Plan adapted = cast();
        adapted.training.optimizer = optimizer;
        if (optimizer == Optimizer::adam) adapted.training.lora_rank = 4;
        EXPECT_EQ(refused_at(adapted), "accepted");
        EXPECT_EQ(verify(build(adapted)), std::vector<std::string>{});
    }
}

/// A step of it conserves what it makes and keeps, and with tied words the head's copy is one of the embedding's.
TEST(Autocast, StepsHold) {
    for (const models::ModelSpec& model : {tiny_gpt(), tiny_llama(), tiny_bert()})
        for (const bool fused : {false, true})
            for (const std::uint32_t tensor : {1U, 2U}) {
                Plan plan = cast();
                plan.model = model;
                plan.training.fused_attention = fused;
                plan.strategy.tensor = tensor;
                EXPECT_EQ(verify(build(plan)), std::vector<std::string>{}) << model.name;
                EXPECT_FALSE(layer_of(plan).flow.complete) << model.name;
            }
    const ShardedLayer head = layer_of(cast(), "head");
    EXPECT_GE(cast_elements(head, true, "weight to 16 bits"), std::uint64_t{tiny_gpt().vocab} * tiny_gpt().hidden);
}

/// A ViT's convolution over patches takes 16 bits, the tokens that it leaves join a stream in fp32.
TEST(Autocast, ImagesAndTheWeightsOfPatchesAreCast) {
    Plan plan = in_pytorch();
    plan.model = models::find("vit-b16");
    plan.training.seq = plan.model.image.tokens();
    plan.training.decoder_seq = 0;
    ASSERT_EQ(refused_at(cast(plan)), "accepted");
    const std::uint64_t rows = std::uint64_t{196} * plan.training.micro_batch, pixels = 3 * 16 * 16, hidden = 768;
    const ShardedLayer patches = layer_of(cast(plan), "patch embedding");
    EXPECT_EQ(cast_elements(patches, true, "input to 16 bits"), rows * pixels);
    EXPECT_EQ(cast_elements(patches, true, "weight to 16 bits"), hidden * pixels);
    EXPECT_EQ(cast_elements(patches, false, "weight gradient to fp32"), hidden * pixels);
    EXPECT_EQ(cast_elements(layer_of(plan, "patch embedding"), true, "to 16 bits"), 0U);
    const ShardedLayer block = layer_of(cast(plan));
    EXPECT_EQ(cast_elements(block, true, "weight to 16 bits") + cast_elements(block, true, "bias to 16 bits"),
              product_parameters(block));
    EXPECT_EQ(verify(build(cast(plan))), std::vector<std::string>{});
}

TEST(Autocast, WhatItDoesNotGoWithIsRefusedAtItsKey) {
    const auto refused = [](auto change) {
        Plan plan = cast();
        change(plan);
        return refused_at(plan);
    };
    EXPECT_EQ(refused([](Plan&) {}), "accepted");
    const std::string key = "/training/autocast";
    EXPECT_EQ(refused([](Plan& p) { p.training.precision.compute = Dtype::fp32; }), key);
    EXPECT_EQ(refused([](Plan& p) { p.training.precision.compute = Dtype::fp8; }), key);
    EXPECT_EQ(refused([](Plan& p) { p.training.precision.grad_reduce = Dtype::bf16; }), key);
    EXPECT_EQ(refused([](Plan& p) { p.training.software = hardware::Software::megatron_lm; }), key);
    EXPECT_EQ(refused([](Plan& p) { p.training.gradient_accumulation_fusion = true; }), key);
    EXPECT_EQ(refused([](Plan& p) { p.training.kernel_fusion = KernelFusion::primitives; }), key);
    EXPECT_EQ(refused([](Plan& p) {
                  p.training.lora_rank = 8;
                  p.training.base_weights = BaseWeights::nf4;
              }),
              key);
}

}  // namespace
}  // namespace orrery::strategies
