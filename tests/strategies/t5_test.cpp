// Encoder and decoder: each stack works on its own sequence, and the decoder on both.
#include <gtest/gtest.h>

#include <algorithm>
#include <variant>

#include "models/catalog.hpp"
#include "models/operators.hpp"
#include "strategies/build.hpp"
#include "strategies/flow_checks.hpp"
#include "strategies/stage.hpp"
#include "tests/strategies/tiny_plan.hpp"

namespace orrery::strategies {
namespace {

constexpr std::uint32_t encoded = 512, decoded = 128;

/// Unfused attention multiplies full rectangles, as MFU counts them; a vocabulary that needs no padding.
Plan t5(std::uint32_t tensor = 1, std::uint32_t data = 1) {
    Plan plan = tiny_plan(tensor, 1, data);
    plan.model = models::find("t5-base");
    plan.model.dropout = 0;
    plan.training.seq = encoded;
    plan.training.decoder_seq = decoded;
    plan.training.fused_attention = false;
    plan.training.micro_batch = 4;
    plan.training.global_batch = 8 * data;
    return plan;
}

const Program& block(const StepProgram& step, std::string_view name) {
    return *std::ranges::find(step.blocks, name, &Program::name);
}

std::vector<kernels::Kernel> kernels_of(const StepProgram& step, const Program& program) {
    std::vector<kernels::Kernel> list;
    for (const Op& op : program.ops)
        if (const auto* compute = std::get_if<Compute>(&op.what)) list.push_back(step.kernels[compute->kernel]);
    return list;
}

TEST(T5, AStepComputesThreeForwardPassesOfBothStacks) {
    for (const std::uint32_t tensor : {1U, 4U}) {
        Plan plan = t5(tensor);
        plan.strategy.sequence_parallel = tensor > 1;
        plan.model.vocab = 32768;
        validate(plan);
        const StepProgram step = build(plan);
        EXPECT_TRUE(verify(step).empty());
        const double model = models::model_flops(models::build(plan.model), 8, encoded, decoded);
        EXPECT_NEAR(kernel_flops(step) * tensor / model, 1, 1e-12) << tensor;
    }
}

TEST(T5, CrossAttentionSeesTheEncodersTokens) {
    Plan plan = t5(4, 2);
    plan.training.fused_attention = true;
    const StepProgram step = build(plan);
    std::vector<kernels::Attention> cores;
    for (const kernels::Kernel& kernel : kernels_of(step, block(step, "decoder block forward")))
        if (const auto* core = std::get_if<kernels::Attention>(&kernel)) cores.push_back(*core);
    ASSERT_EQ(cores.size(), 2U);
    EXPECT_TRUE(cores[0].causal);
    EXPECT_EQ(cores[0].seq, decoded);
    EXPECT_EQ(cores[0].keys(), decoded);
    EXPECT_FALSE(cores[1].causal);
    EXPECT_EQ(cores[1].seq, decoded);
    EXPECT_EQ(cores[1].keys(), encoded);
    EXPECT_EQ(cores[1].heads, 3U);
    // Keys and values are made of all of the encoder's tokens on every rank.
    const auto forward = kernels_of(step, block(step, "decoder block forward"));
    const kernels::Gemm keys_values{kernels::Dtype::bf16, 1, 4 * encoded, 2 * 768 / 4, 768};
    EXPECT_TRUE(std::ranges::find(forward, kernels::Kernel(keys_values)) != forward.end());
}

TEST(T5, ParametersAreThoseOfTheModelAndWordsAreHeldOnce) {
    const Plan plan = t5();
    StepProgram step;
    Intern intern(step);
    const ModelBlocks blocks = add_model_blocks(step, intern, plan);
    const std::uint64_t padding = (plan.padded_vocab() - plan.model.vocab) * plan.model.hidden;
    EXPECT_EQ(place_layers(blocks, plan, 0).counts.trained, models::parameters(models::build(plan.model)) + padding);
    EXPECT_TRUE(blocks.of("decoder embedding").plain.borrows_words);
}

TEST(T5, TheEncodersOutputIsKeptOnceForAllDecoderLayers) {
    StepProgram step;
    Intern intern(step);
    const Plan plan = t5();
    const ModelBlocks blocks = add_model_blocks(step, intern, plan);
    const std::uint64_t token = 768 * 2, of_encoder = 4 * encoded * token, rows = 4 * decoded;
    // Norms, and inputs of products: self attention's qkv and projection, cross attention's q and projection, the MLP's
    // two; a ReLU none of its own.
    const std::uint64_t streams = rows * token * (3 + 2 + 2) + rows * (768 + 3072) * 2;
    const std::uint64_t self = rows * 3 * token + 4ULL * 12 * decoded * decoded * 2;
    const std::uint64_t cross = rows * token + 2 * of_encoder + 4ULL * 12 * decoded * encoded * 2;
    EXPECT_EQ(blocks.of("decoder block").plain.saved_bytes, streams + self + cross + of_encoder / 12);
}

Plan fused(std::uint32_t tensor) {
    Plan plan = t5(tensor);
    plan.training.fused_attention = true;
    return plan;
}

TEST(T5, EveryOperandFitsItsKernelsContract) {
    for (const std::uint32_t tensor : {1U, 2U})
        for (const bool sequence : {false, true})
            for (const Recompute recompute : {Recompute::none, Recompute::selective, Recompute::full})
                for (const auto compute : {kernels::Dtype::bf16, kernels::Dtype::fp32, kernels::Dtype::tf32}) {
                    Plan plan = fused(tensor);
                    plan.strategy.sequence_parallel = sequence && tensor > 1;
                    plan.strategy.recompute = recompute;
                    plan.training.precision = {compute, kernels::Dtype::fp32};
                    validate(plan);
                    const StepProgram step = build(plan);
                    for (const LayerFlow& flow : step.flows) EXPECT_TRUE(flow.complete);
                    EXPECT_EQ(flow_problems(step), std::vector<std::string>{});
                }
}

/// Faults of what two stacks have beside one are found.
TEST(T5, PlantedFaultsOfItsFlowAreFound) {
    const auto problems_of = [](const char* layer, const char* operation, auto change) {
        StepProgram step = build(fused(2));
        Program& of = *std::ranges::find(step.blocks, layer, &Program::name);
        for (std::size_t i = 0; i < of.ops.size(); ++i)
            if (step.names[of.ops[i].label.name] == operation) change(of.details[i], step.flows[of.flow]);
        std::string all;
        for (const std::string& problem : flow_problems(step)) all += problem + "\n";
        return all;
    };
    const std::string beyond = problems_of("encoder block forward", "attention",
                                           [](Detail& detail, LayerFlow&) { detail.launch.position_bias.offset = 1; });
    EXPECT_NE(beyond.find("position biases reaches to element"), std::string::npos) << beyond;
    const std::string nowhere = problems_of("decoder block backward", "cross_kv dgrad", [](Detail&, LayerFlow& flow) {
        flow.second_gradient = static_cast<ValueId>(flow.values.size());
        flow.values.push_back({Role::gradient, kernels::Format::bf16, 1});
    });
    EXPECT_NE(nowhere.find("nothing writes the gradient of its second input"), std::string::npos) << nowhere;
    const std::string unread = problems_of("decoder block backward", "cross_kv dgrad",
                                           [](Detail&, LayerFlow& flow) { flow.second_gradient_before = no_value; });
    EXPECT_NE(unread.find("(sum encoder gradients): reads gradient"), std::string::npos) << unread;
}

TEST(T5, WhatIsNotSupportedIsRefusedByKey) {
    const auto pointer_of = [](auto change) {
        Plan plan = t5(2, 2);
        change(plan);
        return refused_at(plan);
    };
    EXPECT_EQ(pointer_of([](Plan&) {}), "accepted");
    EXPECT_EQ(pointer_of([](Plan& p) { p.training.decoder_seq = 0; }), "/training/decoder_seq");
    EXPECT_EQ(pointer_of([](Plan& p) { p.strategy.pipeline = 2; }), "/strategy/pipeline");
    EXPECT_EQ(pointer_of([](Plan& p) { p.strategy.context = 2; }), "/strategy/context");
    EXPECT_EQ(pointer_of([](Plan& p) { p.training.lora_rank = 8; }), "/training/lora_rank");
    EXPECT_EQ(pointer_of([](Plan& p) {
                  p.strategy.sequence_parallel = true;
                  p.training.decoder_seq = 127;
              }),
              "/training/decoder_seq");
    EXPECT_EQ(pointer_of([](Plan& p) { p.model = tiny_gpt(), p.training.seq = 128; }), "/training/decoder_seq");
}

/// What leaves the device comes back for its backward: of each micro-batch as many layers of both stacks as the plan
/// says, none of those that look words up.
TEST(T5, OffloadedLayersAreThoseOfBothStacks) {
    Plan plan = t5();
    const std::uint32_t all = 2 * 12 + 1;  // with the encoder's norm
    for (const std::uint32_t layers : {1U, 3U, 12U, all}) {
        plan.strategy.cpu_offloading_num_layers = layers;
        validate(plan);
        const StepProgram step = build(plan);
        EXPECT_TRUE(verify(step).empty());
        std::uint64_t there = 0, back = 0, copies = 0;
        for (const Op& op : step.programs.front().ops)
            if (const auto* copy = std::get_if<Copy>(&op.what)) {
                (copy->to == Copy::To::host ? there : back) += copy->bytes;
                copies += copy->to == Copy::To::host ? 1 : 0;
                EXPECT_GE(op.label.layer, 0) << layers;
            }
        EXPECT_EQ(there, back) << layers;
        EXPECT_EQ(copies, plan.micro_batches() * layers);
    }
}

}  // namespace
}  // namespace orrery::strategies
