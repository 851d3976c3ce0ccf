// Models with a mixture of experts: counts against published ones, and what a spec must satisfy.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <vector>

#include "base/error.hpp"
#include "models/catalog.hpp"
#include "models/operators.hpp"

namespace orrery::models {
namespace {

struct Published {
    const char* name;
    std::uint64_t parameters;  ///< of the checkpoint on huggingface.co (safetensors metadata)
    double active_billions;    ///< as the paper or model card rounds it
    double unit;               ///< of its last digit
};

// Qwen3-30B's card cuts 3.35 to 3.3.
const std::vector<Published> published{{"mixtral-8x7b", 46'702'792'704, 12.9, 0.1},
                                       {"mixtral-8x22b", 140'620'634'112, 39, 1},
                                       {"qwen3-30b-a3b", 30'532'122'624, 3.35, 0.1},
                                       {"qwen3-235b-a22b", 235'093'634'560, 22, 1}};

TEST(Experts, ParametersAreThePublishedOnes) {
    for (const auto& [name, total, active, unit] : published) {
        const Model model = build(find(name));
        EXPECT_EQ(parameters(model), total) << name;
        EXPECT_NEAR(static_cast<double>(active_parameters(model)) / 1e9, active, unit / 2) << name;
    }
}

/// Of the checkpoints without the layer that predicts one more token: DeepSeek-V3 (arXiv:2412.19437, section 4.2: 671B,
/// 37B active), Kimi K2 (model card: 1T, 32B), gpt-oss (model card, table 1: 116.83B and 20.91B, 5.13B and 3.61B).
TEST(Experts, LatentAttentionAndWindowsCountAsPublished) {
    struct Card {
        const char* name;
        double billions, unit, active, active_unit;
    };
    for (const auto& [name, billions, unit, active, active_unit] :
         {Card{"deepseek-v3", 671, 1, 37, 1.2}, Card{"kimi-k2", 1026, 1, 32.5, 1},
          Card{"gpt-oss-120b", 116.83, 0.01, 5.13, 2.5}, Card{"gpt-oss-20b", 20.91, 0.01, 3.61, 2.5}}) {
        const Model model = build(find(name));
        EXPECT_NEAR(static_cast<double>(parameters(model)) / 1e9, billions, unit / 2) << name;
        EXPECT_NEAR(static_cast<double>(active_parameters(model)) / 1e9, active, active_unit / 2) << name;
    }
}

TEST(Experts, TheFirstLayersMayHaveNone) {
    const ModelSpec& spec = find("deepseek-v3");
    EXPECT_EQ(spec.moe_layers(), 58U);
    const Model model = build(spec);
    EXPECT_EQ(model.layers[model.nodes[3].layer].name, "block");
    EXPECT_EQ(model.layers[model.nodes[4].layer].name, "moe block");
}

TEST(Windows, StandInEveryOtherLayer) {
    const Model model = build(find("gpt-oss-20b"));
    EXPECT_EQ(model.layers[model.nodes[1].layer].name, "local moe block");
    EXPECT_EQ(model.layers[model.nodes[2].layer].name, "moe block");
    ModelSpec all = find("mistral-7b");
    const double few = model_flops(build(all), 1, 4096), many = model_flops(build(all), 1, 32768);
    all.attention_window = 0;
    EXPECT_DOUBLE_EQ(few, model_flops(build(all), 1, 4096)) << "a window that holds the sequence is none";
    EXPECT_LT(many, model_flops(build(all), 1, 32768));
}

TEST(Experts, DeepSpeedMoeTableOne) {
    EXPECT_NEAR(static_cast<double>(parameters(build(find("gpt-350m-moe-128")))) / 1e9, 13, 0.5);
    EXPECT_NEAR(static_cast<double>(parameters(build(find("gpt-1.3b-moe-128")))) / 1e9, 52, 1);
}

TEST(Experts, ADenseModelIsAllActive) {
    for (const ModelSpec& spec : catalog()) {
        const Model model = build(spec);
        if (spec.experts == 0)
            EXPECT_EQ(active_parameters(model), parameters(model)) << spec.name;
        else
            EXPECT_LT(active_parameters(model), parameters(model)) << spec.name;
        const char* const layer = spec.layer_pattern.empty() ? "moe block" : "moe layer";
        EXPECT_EQ(spec.experts == 0, std::ranges::find(model.layers, layer, &Layer::name) == model.layers.end())
            << spec.name;
    }
}

TEST(Experts, OneExpertThatAllTakeIsTheMlpAndARouter) {
    ModelSpec spec = find("llama3-8b");
    const Model dense = build(spec);
    spec.experts = spec.experts_per_token = spec.moe_layer_freq = 1;
    spec.expert_ffn = spec.ffn;
    const Model one = build(spec);
    EXPECT_EQ(parameters(one), parameters(dense) + std::uint64_t{spec.layers} * spec.hidden);
    EXPECT_EQ(active_parameters(one), parameters(one));
    const double router = 3.0 * 4096 * spec.layers * 2.0 * spec.hidden;
    EXPECT_NEAR(model_flops(one, 1, 4096), model_flops(dense, 1, 4096) + router, 1e-12 * model_flops(one, 1, 4096));
}

TEST(Experts, EveryOtherLayer) {
    const ModelSpec& spec = find("gpt-1.3b-moe-128");
    EXPECT_EQ(spec.moe_layers(), 12U);
    EXPECT_TRUE(spec.has_experts(0));
    EXPECT_FALSE(spec.has_experts(1));
    EXPECT_TRUE(spec.has_experts(22));
}

TEST(Experts, TheSharedExpertIsAnMlpForAll) {
    ModelSpec spec = find("mixtral-8x7b");
    const std::uint64_t before = active_parameters(build(spec));
    spec.shared_expert_ffn = 1000;
    EXPECT_EQ(active_parameters(build(spec)) - before, 32ULL * 3 * 4096 * 1000);
}

TEST(Experts, ContradictionsAreNamed) {
    const auto pointer = [](const std::function<void(ModelSpec&)>& change) {
        ModelSpec spec = find("mixtral-8x7b");
        change(spec);
        try {
            validate(spec);
        } catch (const Error& error) {
            return error.pointer();
        }
        return std::string("legal");
    };
    EXPECT_EQ(pointer([](ModelSpec&) {}), "legal");
    EXPECT_EQ(pointer([](ModelSpec& s) { s.experts = 0; }), "/model/num_experts");
    EXPECT_EQ(pointer([](ModelSpec& s) { s.experts = 1U << 20U; }), "/model/num_experts");
    EXPECT_EQ(pointer([](ModelSpec& s) { s.experts_per_token = 9; }), "/model/num_experts_per_tok");
    EXPECT_EQ(pointer([](ModelSpec& s) { s.experts_per_token = 0; }), "/model/num_experts_per_tok");
    EXPECT_EQ(pointer([](ModelSpec& s) { s.expert_ffn = 0; }), "/model/moe_intermediate_size");
    EXPECT_EQ(pointer([](ModelSpec& s) { s.moe_layer_freq = 0; }), "/model/moe_layer_freq");
    EXPECT_EQ(pointer([](ModelSpec& s) { s.moe_layer_freq = 33; }), "/model/moe_layer_freq");
    EXPECT_EQ(pointer([](ModelSpec& s) { s.parallel_residual = true; }), "/model/use_parallel_residual");
    EXPECT_EQ(pointer([](ModelSpec& s) { s.post_norm = true; }), "/model/post_norm");
}

}  // namespace
}  // namespace orrery::models
