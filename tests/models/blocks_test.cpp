// Layers that differ from GPT's and Llama's: where their norms stand, what shares an input, what has a bias.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/error.hpp"
#include "models/catalog.hpp"
#include "models/operators.hpp"

namespace orrery::models {
namespace {

/// The norms of a block in order, "+" where a residual sum stands, "@" the attention and "=" the MLP's activation.
std::string order(const Layer& layer) {
    std::string text;
    for (const Operator& op : layer.operators) {
        if (const auto* norm = std::get_if<Norm>(&op)) text += norm->name + " ";
        if (std::holds_alternative<ResidualAdd>(op)) text += "+ ";
        if (std::holds_alternative<AttentionCore>(op)) text += "@ ";
        if (std::holds_alternative<Activation>(op)) text += "= ";
    }
    return text;
}

const Linear& linear(const Layer& layer, std::string_view name) {
    for (const Operator& op : layer.operators)
        if (const auto* found = std::get_if<Linear>(&op); found != nullptr && found->name == name) return *found;
    throw std::logic_error("no such layer");
}

TEST(Blocks, NormsStandWhereTheirPapersPutThem) {
    const auto of = [](const char* name) { return order(build(find(name)).layer("block")); };
    EXPECT_EQ(of("llama3-8b"), "attention_norm @ + mlp_norm = + ");
    EXPECT_EQ(of("gpt-neox-20b"), "attention_norm @ mlp_norm = + ");
    EXPECT_EQ(of("falcon-40b"), "attention_norm @ mlp_norm = + ");
    EXPECT_EQ(of("falcon-7b"), "attention_norm @ = + ");
    EXPECT_EQ(of("gpt-j-6b"), "attention_norm @ = + ");
    EXPECT_EQ(of("gemma2-9b"), "attention_norm @ attention_output_norm + mlp_norm = mlp_output_norm + ");
    EXPECT_EQ(of("olmo2-7b"), "@ attention_output_norm + = mlp_output_norm + ");
    EXPECT_EQ(of("glm-130b"), "@ + attention_norm = + mlp_norm ");
}

TEST(Blocks, OneNormFeedsBothBranches) {
    EXPECT_TRUE(linear(build(find("gpt-j-6b")).layer("block"), "up").shares_input);
    EXPECT_FALSE(linear(build(find("falcon-40b")).layer("block"), "up").shares_input);
}

TEST(Blocks, BiasesOfGptJ) {
    const Model model = build(find("gpt-j-6b"));
    const Layer& block = model.layer("block");
    EXPECT_FALSE(linear(block, "qkv").bias);
    EXPECT_FALSE(linear(block, "projection").bias);
    EXPECT_TRUE(linear(block, "up").bias);
    EXPECT_TRUE(linear(block, "down").bias);
    EXPECT_TRUE(linear(model.layer("head"), "logits").bias);
}

TEST(Blocks, WindowsFollowTheirPattern) {
    const ModelSpec &two = find("gemma2-9b"), &six = find("gemma3-1b");
    EXPECT_TRUE(two.has_window(0));
    EXPECT_FALSE(two.has_window(1));
    EXPECT_TRUE(six.has_window(4));
    EXPECT_FALSE(six.has_window(5));
}

TEST(Blocks, NormsOfWholeQueriesAndKeysAreAsWideAsBoth) {
    EXPECT_EQ(parameters(Operator{Rope{.heads = 6, .head_dim = 8, .norm = true, .norm_whole = true}}), 48U);
}

TEST(Blocks, AGateOfTheSharedExpertIsOneVectorALayer) {
    ModelSpec spec = find("qwen1.5-moe-a2.7b");
    const Model gated = build(spec);
    spec.shared_expert_gate = false;
    const Model plain = build(spec);
    EXPECT_EQ(parameters(gated) - parameters(plain), 24U * 2048U);
    EXPECT_DOUBLE_EQ(model_flops(gated, 1, 16) - model_flops(plain, 1, 16), 3.0 * 24 * 16 * 2 * 2048);
}

TEST(Blocks, ContradictionsAreNamed) {
    const auto pointer = [](const char* model, void (*change)(ModelSpec&)) {
        ModelSpec spec = find(model);
        change(spec);
        try {
            validate(spec);
        } catch (const Error& error) {
            return error.pointer();
        }
        return std::string("legal");
    };
    EXPECT_EQ(pointer("llama3-8b", [](ModelSpec& s) { s.shared_norm = true; }), "/model/shared_norm");
    EXPECT_EQ(pointer("llama3-8b", [](ModelSpec& s) { s.input_norm = false; }), "/model/input_norm");
    EXPECT_EQ(pointer("llama3-8b", [](ModelSpec& s) { s.output_norm = true; }), "legal");
    EXPECT_EQ(pointer("bert-base", [](ModelSpec& s) { s.output_norm = true; }), "/model/output_norm");
    EXPECT_EQ(pointer("falcon-7b", [](ModelSpec& s) { s.output_norm = true; }), "/model/output_norm");
    EXPECT_EQ(pointer("llama3-8b", [](ModelSpec& s) { s.qk_norm_whole = true; }), "/model/qk_layernorm_whole");
    EXPECT_EQ(pointer("llama3-8b", [](ModelSpec& s) { s.shared_expert_gate = true; }), "/model/num_experts");
    EXPECT_EQ(pointer("llama3-8b", [](ModelSpec& s) { s.moe_layer_offset = 1; }), "/model/num_experts");
    EXPECT_EQ(pointer("mixtral-8x7b", [](ModelSpec& s) { s.shared_expert_gate = true; }),
              "/model/moe_shared_expert_gate");
    EXPECT_EQ(pointer("mixtral-8x7b", [](ModelSpec& s) { s.moe_layer_offset = 1; }), "/model/moe_layer_offset");
    EXPECT_EQ(pointer("mixtral-8x7b",
                      [](ModelSpec& s) {
                          s.moe_layer_freq = 32;
                          s.moe_layer_offset = 1;
                          s.dense_layers = 2;
                      }),
              "/model/moe_layer_offset");
    EXPECT_EQ(pointer("mixtral-8x7b",
                      [](ModelSpec& s) {
                          s.input_norm = false;
                          s.output_norm = true;
                      }),
              "/model/input_norm");
}

}  // namespace
}  // namespace orrery::models
