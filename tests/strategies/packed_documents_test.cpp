// Documents that are packed into sequences: what attention computes of them, and that nothing else changes.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "base/error.hpp"
#include "models/catalog.hpp"
#include "strategies/build.hpp"
#include "strategies/memory.hpp"
#include "tests/strategies/tiny_plan.hpp"

namespace orrery::strategies {
namespace {

/// Two sequences of 128 tokens a micro-batch, in documents of `length`.
Plan packed(std::uint32_t length, std::uint32_t tensor = 1, std::uint32_t pipeline = 1) {
    Plan plan = tiny_plan(tensor, pipeline, 2);
    plan.model = tiny_llama();
    plan.training.fused_attention = true;
    plan.training.document_length = length;
    return plan;
}

std::vector<kernels::Attention> attention_of(const Plan& plan) {
    std::vector<kernels::Attention> kernels;
    const StepProgram step = build(plan);
    for (const kernels::Kernel& kernel : step.kernels)
        if (const auto* attention = std::get_if<kernels::Attention>(&kernel)) kernels.push_back(*attention);
    return kernels;
}

TEST(PackedDocuments, AreSequencesToAttention) {
    for (const std::uint32_t tensor : {1U, 2U}) {
        const auto kernels = attention_of(packed(32, tensor));
        ASSERT_EQ(kernels.size(), 2U) << "forward and backward";
        for (const kernels::Attention& kernel : kernels) {
            EXPECT_EQ(kernel.batch, 2 * 4U);
            EXPECT_EQ(kernel.seq, 32U);
            EXPECT_EQ(kernel.keys(), 32U);
            EXPECT_EQ(kernel.heads, 4 / tensor);
            EXPECT_TRUE(kernel.causal);
        }
    }
    EXPECT_EQ(attention_of(packed(128)), attention_of(packed(0))) << "one document is the sequence";
}

/// A fourth of the pairs of queries and keys, but for the diagonal; all else is computed as of whole sequences.
TEST(PackedDocuments, HaveAttentionsWorkOfTheirLength) {
    const Plan whole = packed(0), parts = packed(32);
    const auto attention = [](const Plan& plan) {
        double sum = 0;
        for (const kernels::Attention& kernel : attention_of(plan)) sum += kernels::flops(kernel);
        return sum * plan.model.layers * plan.micro_batches();
    };
    EXPECT_NEAR(attention(whole) / attention(parts), 4, 0.1);
    const double difference = kernel_flops(build(whole)) - kernel_flops(build(parts));
    EXPECT_NEAR(difference / (attention(whole) - attention(parts)), 1, 1e-12);
}

TEST(PackedDocuments, TakeTheMemoryOfTheSequence) {
    for (const Recompute recompute : {Recompute::none, Recompute::selective}) {
        Plan whole = packed(0), parts = packed(16);
        whole.strategy.recompute = parts.strategy.recompute = recompute;
        const StageMemory of_whole = memory(build(whole), 0), of_parts = memory(build(parts), 0);
        EXPECT_EQ(of_whole.peak, of_parts.peak);
        EXPECT_EQ(of_whole.at_peak, of_parts.at_peak);
    }
}

TEST(PackedDocuments, ClipTheWindow) {
    const auto window = [](std::uint32_t length, std::uint32_t tokens) {
        Plan plan = packed(length);
        plan.model.attention_window = tokens;
        return attention_of(plan).front().window;
    };
    EXPECT_EQ(window(0, 48), 48U);
    EXPECT_EQ(window(64, 48), 48U);
    EXPECT_EQ(window(32, 48), 0U) << "it holds whole documents";
}

TEST(PackedDocuments, ProgramsAreSound) {
    for (const std::uint32_t tensor : {1U, 2U})
        for (const std::uint32_t pipeline : {1U, 2U})
            for (const bool latent : {false, true}) {
                Plan plan = packed(32, tensor, pipeline);
                if (latent) plan.model = latent_llama();
                plan.strategy.sequence_parallel = tensor > 1;
                validate(plan);
                EXPECT_TRUE(verify(build(plan)).empty()) << tensor << ' ' << pipeline << ' ' << latent;
            }
}

TEST(PackedDocuments, FillASequence) {
    try {
        validate(packed(48));
        ADD_FAILURE() << "48 does not divide 128";
    } catch (const Error& error) {
        EXPECT_EQ(error.pointer(), "/training/document_length");
        EXPECT_EQ(error.message(), "documents of 48 tokens do not fill a sequence of 128 (not modelled here)");
        EXPECT_EQ(error.hint(), "nearest legal values: 32, 64");
    }
    EXPECT_EQ(refused_at(packed(256)), "/training/document_length") << "longer than a sequence";
    for (const std::uint32_t length : {0U, 1U, 32U, 128U}) EXPECT_EQ(refused_at(packed(length)), "accepted") << length;
}

TEST(PackedDocuments, SayWhatTheyDoNotGoWith) {
    constexpr const char* key = "/training/document_length";
    Plan unfused = packed(32);
    unfused.training.fused_attention = false;
    EXPECT_EQ(refused_at(unfused), key);
    Plan context = packed(32);
    context.strategy.context = 2;
    EXPECT_EQ(refused_at(context), key);
    context.training.document_length = 0;
    EXPECT_EQ(refused_at(context), "accepted");

    const auto refused = [&](const char* name, std::uint32_t seq, std::uint32_t decoded, std::uint32_t document) {
        Plan plan = packed(document);
        plan.model = models::find(name);
        plan.training.seq = seq;
        plan.training.decoder_seq = decoded;
        plan.training.fused_attention = plan.model.family != models::Family::transfo_xl;
        return refused_at(plan);
    };
    EXPECT_EQ(refused("t5-base", 512, 128, 128), key);
    EXPECT_EQ(refused("vit-b16", 197, 0, 197), key);
    EXPECT_EQ(refused("resnet-50", 1, 0, 1), key);
    EXPECT_EQ(refused("transformer-xl-base", 192, 0, 64), key);
}

}  // namespace
}  // namespace orrery::strategies
