// The three ways to name a model.
#include "scenarios/model_section.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "models/catalog.hpp"
#include "models/operators.hpp"
#include "scenarios/keys.hpp"
#include "tests/scenarios/expect_error.hpp"

namespace orrery::scenarios {
namespace {

using models::ModelSpec;
using nlohmann::json;

ModelSpec model(const char* text) {
    return read_model(documents::Reader(json::parse(text), section(Place::model), "scenarios/x.json"));
}

TEST(ModelSection, ACatalogNameIsTheCatalogsModel) {
    const ModelSpec spec = model(R"({"name": "GPT3-175B"})");
    EXPECT_EQ(spec.name, "gpt3-175b");
    EXPECT_EQ(spec.layers, 96U);
    EXPECT_EQ(spec.head_dim, 128U);
}

TEST(ModelSection, SingleFieldsOverrideAndDerivedWidthsFollow) {
    const ModelSpec spec = model(R"({"name": "gpt3-175b", "num_hidden_layers": 8, "hidden_size": 6144})");
    EXPECT_EQ(spec.layers, 8U);
    EXPECT_EQ(spec.ffn, 4U * 6144U);
    EXPECT_EQ(spec.head_dim, 64U);
    EXPECT_EQ(spec.kv_heads, 96U);
}

TEST(ModelSection, WidthsOfTheirOwnDoNotFollow) {
    const ModelSpec spec = model(R"({"name": "llama2-70b", "hidden_size": 4096, "head_dim": 128})");
    EXPECT_EQ(spec.ffn, 28672U);
    EXPECT_EQ(spec.kv_heads, 8U);
    EXPECT_EQ(spec.head_dim, 128U);
}

TEST(ModelSection, AHuggingFaceFileIsRelativeToTheScenario) {
    const ModelSpec spec = model(R"({"hugging_face": "models/llama2-70b.json"})");
    const ModelSpec& known = models::find("llama2-70b");
    EXPECT_EQ(spec.layers, known.layers);
    EXPECT_EQ(spec.kv_heads, known.kv_heads);
    EXPECT_EQ(spec.ffn, known.ffn);
    EXPECT_EQ(model(R"({"hugging_face": "models/llama2-70b.json", "num_hidden_layers": 4})").layers, 4U);
}

TEST(ModelSection, AllFieldsUnderMegatronOrHuggingFaceNames) {
    const ModelSpec gpt =
        model(R"({"num_layers": 4, "n_embd": 512, "n_head": 8, "vocab_size": 1000, "n_positions": 256})");
    EXPECT_EQ(gpt.name, "custom");
    EXPECT_EQ(gpt.ffn, 2048U);
    EXPECT_EQ(gpt.kv_heads, 8U);
    EXPECT_EQ(gpt.max_positions, 256U);
    const ModelSpec llama = model(R"({"name": "tiny", "model_type": "llama", "num_hidden_layers": 4, "hidden_size": 512,
        "num_attention_heads": 8, "num_query_groups": 2, "ffn_hidden_size": 1376, "vocab_size": 1000,
        "max_position_embeddings": 4096})");
    EXPECT_EQ(llama.name, "tiny");
    EXPECT_TRUE(llama.gated);
    EXPECT_EQ(llama.norm, models::NormKind::rmsnorm);
    EXPECT_EQ(llama.position, models::PositionKind::rope);
    EXPECT_EQ(llama.max_positions, 0U) << "rotary positions have no table";
    EXPECT_EQ(llama.kv_heads, 2U);
}

TEST(ModelSection, FamiliesMatchThePublishedMembers) {
    const ModelSpec bert = model(R"({"model_type": "bert", "num_hidden_layers": 24, "hidden_size": 1024,
        "num_attention_heads": 16, "vocab_size": 30522, "max_position_embeddings": 512})");
    const ModelSpec& large = models::find("bert-large");
    EXPECT_EQ(models::parameters(models::build(bert)), models::parameters(models::build(large)));
    const ModelSpec llama = model(R"({"model_type": "llama", "num_hidden_layers": 32, "hidden_size": 4096,
        "num_attention_heads": 32, "intermediate_size": 11008, "vocab_size": 32000})");
    EXPECT_EQ(models::parameters(models::build(llama)), models::parameters(models::build(models::find("llama2-7b"))));
}

TEST(ModelSection, SwitchesAndChoicesReachTheSpec) {
    const ModelSpec spec = model(R"({"name": "gpt3-1.3b", "swiglu": true, "untie_embeddings_and_output_weights": true,
        "disable_bias_linear": true, "add_qkv_bias": false, "use_parallel_residual": true,
        "normalization": "RMSNorm", "position_embedding_type": "rope", "qk_layernorm": true})");
    EXPECT_TRUE(spec.gated && spec.parallel_residual && spec.qk_norm);
    EXPECT_FALSE(spec.tied_embeddings || spec.linear_bias || spec.qkv_bias);
    EXPECT_EQ(spec.norm, models::NormKind::rmsnorm);
    EXPECT_EQ(spec.position, models::PositionKind::rope);
    for (const char* learned : {"learned", "learned_absolute", "absolute"}) {
        const json section{{"name", "gpt3-1.3b"}, {"position_embedding_type", learned}};
        EXPECT_EQ(model(section.dump().c_str()).position, models::PositionKind::learned) << learned;
    }
}

TEST(ModelSection, TheActivationFollowsTheGate) {
    using models::ActivationKind;
    EXPECT_EQ(model(R"({"name": "gpt3-1.3b"})").activation, ActivationKind::gelu);
    EXPECT_EQ(model(R"({"name": "gpt3-1.3b", "swiglu": true})").activation, ActivationKind::silu);
    EXPECT_EQ(model(R"({"name": "llama2-7b", "swiglu": false})").activation, ActivationKind::gelu);
    EXPECT_EQ(model(R"({"name": "gpt3-1.3b", "swiglu": true, "hidden_act": "gelu"})").activation, ActivationKind::gelu);
    EXPECT_EQ(model(R"({"name": "opt-1.3b"})").activation, ActivationKind::relu);
    EXPECT_EQ(model(R"({"name": "gpt3-1.3b", "activation_function": "relu"})").activation, ActivationKind::relu);
    EXPECT_EQ(model(R"({"name": "gemma-2b"})").activation, ActivationKind::gelu);
}

TEST(ModelSection, ADenseModelOfOneWithExpertsKeepsNothingOfThem) {
    const ModelSpec spec = model(R"({"name": "qwen1.5-moe-a2.7b", "num_experts": 0})");
    EXPECT_FALSE(spec.shared_expert_gate);
    EXPECT_EQ(spec.shared_expert_ffn + spec.moe_layer_offset, 0U);
    EXPECT_EQ(model(R"({"name": "llama4-maverick", "num_experts": 0})").moe_layer_offset, 0U);
}

TEST(ModelSection, AnUnknownNameTellsTheNearest) {
    expect_error([] { (void)model(R"({"name": "gpt3-175"})"); }, "/model/name", "gpt3-175", "gpt3-175b");
}

}  // namespace
}  // namespace orrery::scenarios
