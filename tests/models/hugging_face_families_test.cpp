// Nineteen configurations as their publishers wrote them: the catalog's model, or a refusal that says why.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "models/catalog.hpp"
#include "models/operators.hpp"

namespace orrery::models {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

json shipped(const std::string& name) { return json::parse(std::ifstream("scenarios/models/" + name + ".json")); }

class Families : public testing::Test {
protected:
    void SetUp() override {
        const auto* test = testing::UnitTest::GetInstance()->current_test_info();
        file_ = fs::temp_directory_path() / (std::string("orrery_families_") + test->name() + ".json");
    }
    void TearDown() override { fs::remove(file_); }

    ModelSpec import(const json& config) const {
        std::ofstream(file_) << config.dump();
        return import_hugging_face(file_);
    }
    /// Its pointer; the message and hint are kept. "accepted" where there is none.
    std::string refusal(const json& config) const {
        try {
            import(config);
        } catch (const Error& error) {
            message_ = error.message();
            hint_ = error.hint();
            return error.pointer();
        }
        return "accepted";
    }
    std::string refusal(const std::string& model, const std::string& key, const json& value) const {
        json config = shipped(model);
        config[key] = value;
        return refusal(config);
    }

    fs::path file_;
    mutable std::string message_, hint_;
};

/// Of meta-llama/Llama-4-Scout-17B-16E; vision_config shortened.
json scout() {
    return {{"architectures", {"Llama4ForConditionalGeneration"}},
            {"model_type", "llama4"},
            {"vision_config", {{"model_type", "llama4_vision_model"}, {"hidden_size", 1408}}},
            {"text_config",
             {{"model_type", "llama4_text"},
              {"attention_bias", false},
              {"attention_chunk_size", 8192},
              {"attention_dropout", 0.0},
              {"head_dim", 128},
              {"hidden_act", "silu"},
              {"hidden_size", 5120},
              {"interleave_moe_layer_step", 1},
              {"intermediate_size", 8192},
              {"intermediate_size_mlp", 16384},
              {"max_position_embeddings", 262144},
              {"num_attention_heads", 40},
              {"num_experts_per_tok", 1},
              {"num_hidden_layers", 48},
              {"num_key_value_heads", 8},
              {"num_local_experts", 16},
              {"tie_word_embeddings", false},
              {"use_qk_norm", true},
              {"vocab_size", 202048}}}};
}

TEST_F(Families, NineteenLoadOrSayWhyNot) {
    const std::vector<std::string> load{"llama3.1-8b", "qwen2.5-7b",   "qwen3-8b",  "qwen1.5-moe-a2.7b", "mixtral-8x7b",
                                        "deepseek-v3", "gpt-oss-120b", "gemma2-9b", "phi-3-mini",        "t5-base",
                                        "gpt-j-6b",    "falcon-7b",    "opt-6.7b",  "bloom-176b",        "olmo2-7b",
                                        "gpt2",        "bert-base",    "vit-b16",   "clip-vit-l14"};
    for (const std::string& name : load)
        EXPECT_EQ(import_hugging_face("scenarios/models/" + name + ".json"), find(name));
    ModelSpec llama4 = import(scout());
    EXPECT_TRUE(llama4.name.ends_with(" (text)")) << llama4.name;
    llama4.name = "llama4-scout";
    EXPECT_EQ(llama4, find("llama4-scout"));

    const json masked{{"architectures", {"ViTMAEForPreTraining"}}, {"model_type", "vit_mae"}, {"image_size", 224}};
    EXPECT_EQ(refusal(masked), "/model_type");
    EXPECT_EQ(message_, "\"vit_mae\" (Transformer over patches of images, of another kind than ViT) is not supported");
}

/// google/t5-v1_1-base and flan-t5-base; mT5 has more words.
TEST_F(Families, LaterT5sGateTheirMlp) {
    json gated = shipped("t5-base");
    gated["d_ff"] = 2048;
    gated["feed_forward_proj"] = "gated-gelu";
    gated["tie_word_embeddings"] = false;
    ModelSpec expected = find("t5-v1.1-base"), spec = import(gated);
    spec.name = expected.name;
    EXPECT_EQ(spec, expected);
    gated["model_type"] = "mt5";
    gated["architectures"] = {"MT5ForConditionalGeneration"};
    gated["vocab_size"] = 250112;
    EXPECT_EQ(parameters(build(import(gated))), 582'401'280U) << "google/mt5-base";
}

TEST_F(Families, ImagesInPatches) {
    json large = shipped("vit-b16");
    large["image_size"] = 384;
    large.erase("num_labels");
    large["id2label"] = {{"0", "cat"}, {"1", "dog"}, {"2", "gnu"}};
    ModelSpec spec = import(large);
    EXPECT_EQ(spec.image.tokens(), 577U);
    EXPECT_EQ(spec.max_positions, 577U);
    EXPECT_EQ(spec.vocab, 3U);
    large.erase("id2label");
    EXPECT_EQ(import(large).vocab, 2U) << "transformers' default";
    large["architectures"] = {"ViTModel"};
    EXPECT_EQ(refusal(large), "/num_labels") << "google/vit-huge-patch14-224-in21k: no classifier";
    large["num_labels"] = 21843;
    EXPECT_EQ(import(large).vocab, 21843U);
    EXPECT_EQ(refusal("vit-b16", "patch_size", 15), "/patch_size");
    EXPECT_EQ(refusal("vit-b16", "num_attention_heads", 7), "/num_attention_heads");
    EXPECT_EQ(refusal("vit-b16", "hidden_act", "silu"), "/hidden_act");
    EXPECT_EQ(refusal("vit-b16", "attention_probs_dropout_prob", 0.1), "/attention_probs_dropout_prob");
    json bare = shipped("vit-b16");
    bare.erase("image_size");
    bare.erase("num_channels");
    bare["qkv_bias"] = false;
    EXPECT_EQ(import(bare).image, find("vit-b16").image);
    EXPECT_FALSE(import(bare).qkv_bias);
}

/// Sizes that transformers' classes have stay unsaid in old files.
TEST_F(Families, ImagesBesideTexts) {
    ModelSpec spec = import(json{{"architectures", {"CLIPModel"}},
                                 {"model_type", "clip"},
                                 {"projection_dim", 512},
                                 {"text_config", {{"model_type", "clip_text_model"}}},
                                 {"vision_config", {{"model_type", "clip_vision_model"}}}});
    spec.name = "clip-vit-b32";
    EXPECT_EQ(spec, find("clip-vit-b32"));
    json broken = shipped("clip-vit-l14");
    broken["text_config"]["num_attention_heads"] = 7;
    EXPECT_EQ(refusal(broken), "/text_config/num_attention_heads");
    broken = shipped("clip-vit-l14");
    broken["vision_config"]["attention_dropout"] = 0.1;
    EXPECT_EQ(refusal(broken), "/vision_config/attention_dropout");
}

/// nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-BF16, what says nothing of the structure left out.
json nemotron_nano() {
    return {{"architectures", {"NemotronHForCausalLM"}},
            {"model_type", "nemotron_h"},
            {"attention_bias", false},
            {"chunk_size", 128},
            {"conv_kernel", 4},
            {"head_dim", 128},
            {"hidden_size", 2688},
            {"hybrid_override_pattern", "MEMEM*EMEMEM*EMEMEM*EMEMEM*EMEMEM*EMEMEMEM*EMEMEMEME"},
            {"intermediate_size", 1856},
            {"mamba_head_dim", 64},
            {"mamba_num_heads", 64},
            {"mamba_proj_bias", false},
            {"mlp_bias", false},
            {"mlp_hidden_act", "relu2"},
            {"moe_intermediate_size", 1856},
            {"moe_shared_expert_intermediate_size", 3712},
            {"n_groups", 8},
            {"n_routed_experts", 128},
            {"num_attention_heads", 32},
            {"num_experts_per_tok", 6},
            {"num_hidden_layers", 52},
            {"num_key_value_heads", 2},
            {"ssm_state_size", 128},
            {"tie_word_embeddings", false},
            {"use_bias", false},
            {"use_conv_bias", true},
            {"vocab_size", 131072}};
}

TEST_F(Families, NemotronsLayersAreLetters) {
    ModelSpec spec = import(nemotron_nano());
    spec.name = "nemotron-3-nano";
    EXPECT_EQ(spec, find("nemotron-3-nano"));
    json other = nemotron_nano();
    other["hybrid_override_pattern"] = "MEM";
    EXPECT_EQ(refusal(other), "/hybrid_override_pattern");
    other = nemotron_nano();
    other["mlp_hidden_act"] = "gelu";
    EXPECT_EQ(refusal(other), "/mlp_hidden_act");
    other = nemotron_nano();
    other["use_conv_bias"] = false;
    EXPECT_EQ(refusal(other), "/use_conv_bias");
    other = nemotron_nano();
    other.erase("ssm_state_size");
    EXPECT_EQ(refusal(other), "/ssm_state_size");
}

TEST_F(Families, MambaTwoHasMixersAlone) {
    const json config{{"architectures", {"Mamba2ForCausalLM"}},
                      {"model_type", "mamba2"},
                      {"chunk_size", 256},
                      {"conv_kernel", 4},
                      {"expand", 2},
                      {"head_dim", 64},
                      {"hidden_act", "silu"},
                      {"hidden_size", 2560},
                      {"n_groups", 1},
                      {"num_heads", 80},
                      {"num_hidden_layers", 64},
                      {"state_size", 128},
                      {"tie_word_embeddings", true},
                      {"use_bias", false},
                      {"use_conv_bias", true},
                      {"vocab_size", 50288}};
    ModelSpec spec = import(config);
    spec.name = "mamba2-2.7b";
    EXPECT_EQ(spec, find("mamba2-2.7b"));
    json other = config;
    other["num_heads"] = 40;
    EXPECT_EQ(refusal(other), "/num_heads");
}

TEST_F(Families, AnUnknownNameIsShownTheNearestKnownOne) {
    EXPECT_EQ(refusal(json{{"model_type", "gemma4"}}), "/model_type");
    EXPECT_TRUE(hint_.starts_with("nearest known: gemma")) << hint_;
    EXPECT_EQ(refusal(json{{"architectures", {"Olmo3ForCausalLM"}}}), "/architectures/0");
    EXPECT_TRUE(hint_.starts_with("nearest known: Olmo2ForCausalLM; one of ")) << hint_;
}

/// google/gemma-3-4b-it states of its decoder what differs from transformers' class.
TEST_F(Families, GemmaThreeBesideImages) {
    const json config{{"architectures", {"Gemma3ForConditionalGeneration"}},
                      {"model_type", "gemma3"},
                      {"text_config",
                       {{"hidden_size", 2560},
                        {"intermediate_size", 10240},
                        {"model_type", "gemma3_text"},
                        {"num_hidden_layers", 34},
                        {"sliding_window", 1024}}},
                      {"vision_config", {{"model_type", "siglip_vision_model"}}}};
    ModelSpec spec = import(config);
    spec.name = "gemma3-4b";
    EXPECT_EQ(spec, find("gemma3-4b"));
    json broken = config;
    broken["text_config"]["num_attention_heads"] = 7;
    EXPECT_EQ(refusal(broken), "/text_config") << "the 4 key-value heads are the class's";
    broken["text_config"].erase("hidden_size");
    EXPECT_EQ(refusal(broken), "/text_config/hidden_size");
}

TEST_F(Families, InterleavedExperts) {
    json maverick = scout();
    maverick["text_config"]["interleave_moe_layer_step"] = 2;
    maverick["text_config"]["num_local_experts"] = 128;
    maverick["text_config"]["use_qk_norm"] = false;
    ModelSpec spec = import(maverick);
    spec.name = "llama4-maverick";
    EXPECT_EQ(spec, find("llama4-maverick"));
    EXPECT_EQ(spec.moe_layers(), 24U);
    EXPECT_FALSE(spec.has_experts(0));
    EXPECT_TRUE(spec.has_experts(1));
    EXPECT_TRUE(spec.has_experts(47));
    EXPECT_THROW(validate_sequence(spec, 8193, "/training/seq_length"), Error);
    EXPECT_NO_THROW(validate_sequence(spec, 8192, "/training/seq_length"));
}

TEST_F(Families, KeysThatNothingHereStandsForAreRefused) {
    EXPECT_EQ(refusal("opt-6.7b", "do_layer_norm_before", false), "/do_layer_norm_before");
    EXPECT_EQ(refusal("opt-6.7b", "word_embed_proj_dim", 512), "/word_embed_proj_dim");
    EXPECT_EQ(refusal("opt-6.7b", "activation_function", "gelu"), "/activation_function");
    EXPECT_EQ(refusal("opt-6.7b", "attention_dropout", 0.2), "/attention_dropout");
    EXPECT_EQ(refusal("gpt-j-6b", "attn_pdrop", 0.1), "/attn_pdrop");
    EXPECT_EQ(refusal("falcon-7b", "activation", "relu"), "/activation");
    EXPECT_EQ(refusal("gemma2-9b", "attention_bias", true), "/attention_bias");
    EXPECT_EQ(refusal("gemma2-9b", "hidden_activation", "relu"), "/hidden_activation");
    EXPECT_EQ(refusal("gemma2-9b", "layer_types", {"full_attention"}), "/layer_types");
    EXPECT_EQ(refusal("phi-3-mini", "resid_pdrop", 0.1), "/resid_pdrop");
    EXPECT_EQ(refusal("olmo2-7b", "attention_bias", true), "/attention_bias");
    EXPECT_EQ(refusal("qwen-7b", "intermediate_size", 22017), "/intermediate_size");
    EXPECT_EQ(refusal("qwen-7b", "no_bias", false), "/no_bias");
    EXPECT_EQ(refusal("qwen1.5-moe-a2.7b", "mlp_only_layers", {1}), "/mlp_only_layers");
    EXPECT_EQ(refusal("t5-base", "feed_forward_proj", "gated-silu"), "/feed_forward_proj");
    EXPECT_EQ(refusal("mixtral-8x7b", "shared_expert_intermediate_size", 64), "/shared_expert_intermediate_size");
}

TEST_F(Families, WhatDiffersFromTheDefaults) {
    json falcon = shipped("falcon-7b");
    falcon["parallel_attn"] = falcon["multi_query"] = false;
    falcon["alibi"] = falcon["bias"] = true;
    const ModelSpec rw = import(falcon);
    EXPECT_FALSE(rw.parallel_residual || rw.shared_norm);
    EXPECT_EQ(rw.kv_heads, rw.heads);
    EXPECT_EQ(rw.position, PositionKind::alibi);
    EXPECT_TRUE(rw.linear_bias && rw.qkv_bias);

    json eleven = shipped("falcon-40b");
    eleven["num_ln_in_parallel_attn"] = 1;
    EXPECT_TRUE(import(eleven).shared_norm);

    json qwen = shipped("qwen3-30b-a3b");
    qwen["decoder_sparse_step"] = 2;
    EXPECT_EQ(import(qwen).moe_layers(), 24U);
    EXPECT_FALSE(import(qwen).has_experts(0));
}

}  // namespace
}  // namespace orrery::models
