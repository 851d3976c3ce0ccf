// State-space mixers and hybrids of them: layers, parameters, operations, refusals.
#include <gtest/gtest.h>

#include "base/error.hpp"
#include "models/catalog.hpp"
#include "models/operators.hpp"

namespace orrery::models {
namespace {

TEST(Mamba, HasTheParametersOfItsWeights) {
    // mamba2.py of state-spaces/mamba, 2.7b: in_proj 2560 x (2 x 5120 + 2 x 128 + 80), conv1d 5376 x 4 with a bias,
    // dt_bias, A_log, D of 80 heads, a norm of 5120, out_proj 5120 x 2560, and the layer's norm.
    constexpr std::uint64_t layer = 2560 * (2 * 5120 + 2 * 128 + 80) + 5376 * 5 + 3 * 80 + 5120 + 5120 * 2560 + 2560;
    const Model model = build(find("mamba2-2.7b"));
    EXPECT_EQ(parameters(model.layer("mamba layer")), layer);
    EXPECT_EQ(parameters(model), 64 * layer + 50288 * 2560 + 2560);
    EXPECT_EQ(parameters(build(find("mamba2-130m"))), 128'989'632U);
}

TEST(Mamba, APatternSaysTheLayers) {
    const Model model = build(find("nemotron-h-56b"));
    const std::vector<std::uint64_t> uses = model.uses();
    const auto of = [&](std::string_view name) {
        return uses[static_cast<std::size_t>(&model.layer(name) - model.layers.data())];
    };
    // Nemotron-H (arXiv:2504.03624), section 2: 54 Mamba-2, 54 MLP and 10 attention layers.
    EXPECT_EQ(of("mamba layer"), 54U);
    EXPECT_EQ(of("mlp layer"), 54U);
    EXPECT_EQ(of("attention layer"), 10U);
    EXPECT_EQ(model.layers[model.nodes[8].layer].name, "attention layer");  // "M-M-M-M*"
    EXPECT_EQ(find("nemotron-3-nano").moe_layers(), 23U);
}

TEST(Mamba, OperationsAreMegatronLMsWhereTheInnerWidthIsTwiceTheHidden) {
    // training.py, hybrid_flops: mamba_layer_flops, mlp_layer_flops, attn_layer_flops and the logits, times three.
    const ModelSpec spec = find("nemotron-h-8b");
    const double t = 8192, h = 4096, inner = 2 * h, state = 128;
    const double mamba = 2 * t * h * (2 * inner + 2 * 8 * state + 128) + 7 * t * inner * state + 2 * t * inner * h;
    const double mlp = 4 * t * h * 21504;
    const double attention = 4 * t * h * (h + h * 8 / 32) + 4 * t * t * h;  // of the full square: twice its count
    const double all = 24 * mamba + 24 * mlp + 4 * attention + 2 * t * h * 131072;
    EXPECT_NEAR(model_flops(build(spec), 1, 8192) / (3 * all), 1, 1e-12);
}

TEST(Mamba, ExpertsWorkOnALatentWidth) {
    const Model model = build(find("nemotron-3-super"));
    const std::uint64_t hidden = 4096, latent = 1024, width = 2688;
    EXPECT_EQ(parameters(model.layer("moe layer")),
              hidden + 2 * hidden * 5376 + 512 * (hidden + 2 * latent * width) + 2 * hidden * latent);
    EXPECT_EQ(parameters(model) - active_parameters(model), 40 * (512 - 22) * 2 * latent * width);
}

std::string refused(const ModelSpec& spec) {
    try {
        validate(spec);
    } catch (const Error& error) {
        EXPECT_FALSE(error.hint().empty());
        return error.pointer();
    }
    return "accepted";
}

TEST(Mamba, ContradictionsAreRefused) {
    const ModelSpec whole = find("nemotron-h-8b");
    ModelSpec spec = whole;
    spec.layer_pattern[3] = 'X';
    EXPECT_EQ(refused(spec), "/model/hybrid_override_pattern");
    spec = whole;
    spec.layer_pattern.pop_back();
    EXPECT_EQ(refused(spec), "/model/hybrid_override_pattern");
    spec = whole;
    spec.layer_pattern[1] = 'E';
    EXPECT_EQ(refused(spec), "/model/hybrid_override_pattern");
    spec = whole;
    spec.mamba.groups = 7;
    EXPECT_EQ(refused(spec), "/model/n_groups");
    spec = whole;
    spec.mamba.state = 0;
    EXPECT_EQ(refused(spec), "/model/ssm_state_size");
    spec = find("llama3-8b");
    spec.layer_pattern = "M";
    EXPECT_EQ(refused(spec), "/model/hybrid_override_pattern");
    spec = find("mixtral-8x7b");
    spec.expert_latent = 1024;
    EXPECT_EQ(refused(spec), "accepted");
    spec = find("llama3-8b");
    spec.expert_latent = 1024;
    EXPECT_EQ(refused(spec), "/model/num_experts");
}

}  // namespace
}  // namespace orrery::models
