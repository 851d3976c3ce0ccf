// Floating-point operations against the formulas of SC'21 and against bounds that hold for every model.
#include <gtest/gtest.h>

#include "models/catalog.hpp"
#include "models/operators.hpp"

namespace orrery::models {
namespace {

constexpr double tolerance = 1e-12;

/// SC'21, equation 3 (with full recomputation), factor 96 and 16; without, 72 and 12.
double equation_three(const ModelSpec& spec, double sequences, double s, double factor) {
    const double l = spec.layers, h = spec.hidden, v = spec.vocab;
    return factor * sequences * s * l * h * h * (1 + s / (6 * h) + v / (factor / 6 * l * h));
}

TEST(Flops, PlainGptFollowsEquationThree) {
    for (const auto name : {"gpt2", "gpt3-125m", "gpt3-175b", "gpt-1.7b", "gpt-22b", "gpt-530b", "gpt-1t"}) {
        const Model model = build(find(name));
        for (const std::uint64_t seq : {1u, 512u, 2048u}) {
            const double s = static_cast<double>(seq);
            const double without = equation_three(model.spec, 1536, s, 72),
                         with = equation_three(model.spec, 1536, s, 96);
            EXPECT_NEAR(model_flops(model, 1536, seq) / without, 1.0, tolerance) << name;
            EXPECT_NEAR(hardware_flops_full_recompute(model, 1536, seq) / with, 1.0, tolerance) << name;
        }
    }
}

TEST(Flops, GroupedGatedModelByHand) {
    // Llama-3-8B, per token and layer: qkv 4096 x 6144, projection 4096 x 4096, three 4096 x 14336; logits once.
    const Model model = build(find("llama3-8b"));
    const double linear = 2.0 * 4096 * (6144.0 + 4096 + 3 * 14336), attention = 4.0 * 8192 * 4096;
    const double forward = 32 * (linear + attention) + 2.0 * 4096 * 128256;
    EXPECT_NEAR(model_flops(model, 4, 8192) / (3.0 * 4 * 8192 * forward), 1.0, tolerance);
    const double recomputed = 4.0 * 8192 * 32 * (linear + attention);
    EXPECT_NEAR((hardware_flops_full_recompute(model, 4, 8192) - model_flops(model, 4, 8192)) / recomputed, 1.0,
                tolerance);
}

/// Packed into a sequence they count as the sequences that they would be.
TEST(Flops, DocumentsCountAsShorterSequences) {
    ModelSpec window = find("llama3-8b");
    window.attention_window = 100;
    for (const ModelSpec& spec : {find("llama3-8b"), find("bert-large"), window}) {
        const Model model = build(spec);
        EXPECT_NEAR(model_flops(model, 4, 512, 0, 128) / model_flops(model, 16, 128), 1.0, tolerance) << spec.name;
        EXPECT_NEAR(
            hardware_flops_full_recompute(model, 4, 512, 0, 128) / hardware_flops_full_recompute(model, 16, 128), 1.0,
            tolerance);
        EXPECT_EQ(model_flops(model, 4, 512, 0, 512), model_flops(model, 4, 512));
    }
    const Model model = build(window);
    EXPECT_NEAR(causal_attention_flops(model, 4, 512, 0, 128) / causal_attention_flops(model, 16, 128, 0), 1.0,
                tolerance);
    EXPECT_EQ(model_flops(model, 4, 512, 0, 64), model_flops(build(find("llama3-8b")), 4, 512, 0, 64))
        << "a window that holds documents is none";
}

TEST(Flops, BertCountsItsHeadsDenseLayer) {
    const Model model = build(find("bert-large"));
    const double h = 1024, s = 512;
    const double forward = 24 * (24 * h * h + 4 * s * h) + 2 * h * h + 2 * h * 30522;
    EXPECT_NEAR(model_flops(model, 8, 512) / (3 * 8 * s * forward), 1.0, tolerance);
}

TEST(Flops, ExceedSixPerWeightAndTokenByAttentionOnly) {
    // 6 N per token, N without embedding tables and vectors: a lower bound that short sequences approach.
    for (const ModelSpec& spec : catalog()) {
        if (spec.image.size > 0 || spec.decoder_layers > 0 || !spec.layer_pattern.empty() || spec.recurrence.memory > 0)
            continue;  // a weight of a convolution is used at every pixel, one of attention on a memory's tokens too,
                       // and a scan has operations beside weights
        const Model model = build(spec);
        const double logits = spec.tied_embeddings ? static_cast<double>(spec.vocab) * spec.hidden : 0.0;
        const double weights =
            static_cast<double>(active_parameters(model) - parameters(model.layer("embedding"))) + logits;
        const double per_token = model_flops(model, 1, 1) / (6.0 * weights);
        EXPECT_GT(per_token, 0.995) << spec.name;  // vectors (biases, norms) are parameters without products
        EXPECT_LT(per_token, 1.005) << spec.name;
        EXPECT_GT(model_flops(model, 1, 2048) / 2048, model_flops(model, 1, 1)) << spec.name;
    }
}

TEST(Flops, AreLinearInSequences) {
    const Model model = build(find("qwen2-7b"));
    EXPECT_NEAR(model_flops(model, 64, 4096) / (64 * model_flops(model, 1, 4096)), 1.0, tolerance);
    EXPECT_EQ(model_flops(model, 0, 4096), 0.0);
}

TEST(Flops, CausalAttentionCountsTheFullSquare) {
    ModelSpec spec = find("gpt2");
    const double causal = model_flops(build(spec), 1, 1024);
    spec.causal = false;
    EXPECT_EQ(model_flops(build(spec), 1, 1024), causal);
}

}  // namespace
}  // namespace orrery::models
