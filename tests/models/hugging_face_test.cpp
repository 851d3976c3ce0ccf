// Import of config.json: the shipped files equal the catalog, and every wrong file is refused where it is wrong.
#include <gtest/gtest.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "models/catalog.hpp"

namespace orrery::models {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

json shipped(const std::string& name) { return json::parse(std::ifstream("scenarios/models/" + name + ".json")); }

class HuggingFace : public testing::Test {
protected:
    void SetUp() override {
        const auto* test = testing::UnitTest::GetInstance()->current_test_info();
        directory_ = fs::temp_directory_path() / (std::string("orrery_hugging_face_") + test->name());
        fs::create_directories(directory_);
    }
    void TearDown() override { fs::remove_all(directory_); }

    fs::path write(const std::string& text) const {
        const fs::path file = directory_ / "model.json";
        std::ofstream(file, std::ios::binary) << text;
        return file;
    }
    ModelSpec import(const json& config) const { return import_hugging_face(write(config.dump())); }

    /// The pointer of the Error, which must name the file; "accepted" when there is none.
    std::string refusal(const std::string& text) const {
        const fs::path file = write(text);
        try {
            import_hugging_face(file);
        } catch (const Error& error) {
            EXPECT_EQ(error.file(), file.string());
            message_ = error.message();
            EXPECT_FALSE(message_.empty());
            return error.pointer();
        }
        return "accepted";
    }
    std::string refusal(const std::string& model, const std::string& key, const json& value) const {
        json config = shipped(model);
        config[key] = value;
        return refusal(config.dump());
    }

    fs::path directory_;
    mutable std::string message_;
};

TEST_F(HuggingFace, ShippedFilesEqualTheCatalog) {
    int files = 0;
    for (const auto& entry : fs::directory_iterator("scenarios/models")) {
        if (entry.path().extension() != ".json") continue;
        const ModelSpec spec = import_hugging_face(entry.path());
        EXPECT_EQ(spec, find(entry.path().stem().string())) << entry.path();
        ++files;
    }
    EXPECT_GE(files, 12);
}

TEST_F(HuggingFace, NameIsTheFoldersForConfigJson) {
    const fs::path file = directory_ / "config.json";
    fs::copy_file("scenarios/models/gpt2.json", file);
    EXPECT_EQ(import_hugging_face(file).name, directory_.filename().string());
    EXPECT_EQ(import_hugging_face(write(shipped("gpt2").dump())).name, "model");
}

TEST_F(HuggingFace, EitherKeyChoosesTheFamily) {
    for (const auto key : {"architectures", "model_type"}) {
        json config = shipped("llama3-8b");
        config.erase(key);
        EXPECT_EQ(import(config).kv_heads, 8u) << key;
    }
    json neither = shipped("llama3-8b");
    neither.erase("architectures");
    neither.erase("model_type");
    EXPECT_EQ(refusal(neither.dump()), "/model_type");
}

TEST_F(HuggingFace, DocumentedDefaults) {
    json gpt2 = shipped("gpt2");
    gpt2["n_inner"] = nullptr;
    for (const auto key : {"attn_pdrop", "embd_pdrop", "resid_pdrop", "activation_function"}) gpt2.erase(key);
    ModelSpec expected = find("gpt2");
    expected.name = "model";
    EXPECT_EQ(import(gpt2), expected);

    json llama = shipped("llama2-7b");
    llama.erase("num_key_value_heads");
    llama.erase("tie_word_embeddings");
    EXPECT_EQ(import(llama).kv_heads, 32u);
    EXPECT_FALSE(import(llama).tied_embeddings);

    json mistral = shipped("mistral-7b");
    mistral["sliding_window"] = nullptr;
    EXPECT_EQ(import(mistral).attention_window, 0u);
    mistral.erase("sliding_window");
    EXPECT_EQ(import(mistral).attention_window, 4096u);
    mistral["num_key_value_heads"] = nullptr;
    EXPECT_EQ(import(mistral).kv_heads, 32u);

    json qwen3 = shipped("qwen3-8b");
    qwen3.erase("head_dim");
    EXPECT_EQ(import(qwen3).head_dim, 128u);
}

TEST_F(HuggingFace, ReadsWhatDiffersFromTheDefaults) {
    json config = shipped("gpt2");
    config["n_inner"] = 1000;
    config["tie_word_embeddings"] = false;
    EXPECT_EQ(import(config).ffn, 1000u);
    EXPECT_FALSE(import(config).tied_embeddings);

    json llama = shipped("llama3-8b");
    llama["attention_bias"] = llama["mlp_bias"] = true;
    EXPECT_TRUE(import(llama).linear_bias);
    EXPECT_TRUE(import(llama).qkv_bias);

    json qwen2 = shipped("qwen2-7b");
    qwen2["use_sliding_window"] = true;
    EXPECT_EQ(import(qwen2).attention_window, 0u) << "layers from the 28th on, of 28";
    qwen2["max_window_layers"] = 0;
    EXPECT_EQ(import(qwen2).attention_window, 131072u);
    qwen2["max_window_layers"] = 14;
    EXPECT_THROW((void)import(qwen2), Error);

    json bloom = shipped("bloom-176b");  // both spellings of the published files
    bloom.erase("n_embed");
    bloom.erase("num_attention_heads");
    bloom["hidden_size"] = 14336;
    bloom["n_head"] = 112;
    ModelSpec expected = find("bloom-176b");
    expected.name = "model";
    EXPECT_EQ(import(bloom), expected);

    json neox = shipped("gpt-neox-20b");
    neox["use_parallel_residual"] = false;
    EXPECT_FALSE(import(neox).parallel_residual);
}

TEST_F(HuggingFace, MissingKeys) {
    const std::vector<std::pair<std::string, std::vector<std::string>>> needed{
        {"gpt2", {"n_layer", "n_embd", "n_head", "n_positions", "vocab_size"}},
        {"gpt-neox-20b", {"num_hidden_layers", "hidden_size", "num_attention_heads", "intermediate_size"}},
        {"llama3-8b", {"num_hidden_layers", "hidden_size", "num_attention_heads", "intermediate_size", "vocab_size"}},
        {"mistral-7b", {"num_key_value_heads"}},
        {"qwen2-7b", {"num_key_value_heads"}},
        {"qwen3-8b", {"num_key_value_heads"}},
        {"bert-base", {"intermediate_size", "max_position_embeddings", "vocab_size"}}};
    for (const auto& [model, keys] : needed)
        for (const auto& key : keys) {
            json config = shipped(model);
            config.erase(key);
            EXPECT_EQ(refusal(config.dump()), "/" + key) << model;
            EXPECT_EQ(message_, "missing") << model;
        }
}

TEST_F(HuggingFace, WrongValues) {
    const std::vector<json> wrong{0, -1, 1.5, 4294967296ull, 1e300, "32", true, json::array({32}), json::object()};
    for (const json& value : wrong) {
        EXPECT_EQ(refusal("llama3-8b", "num_hidden_layers", value), "/num_hidden_layers") << value;
        EXPECT_EQ(refusal("llama3-8b", "num_key_value_heads", value), "/num_key_value_heads") << value;
        EXPECT_EQ(refusal("gpt2", "n_inner", value), "/n_inner") << value;
        EXPECT_EQ(refusal("bert-base", "type_vocab_size", value), "/type_vocab_size") << value;
    }
    for (const json& value : {json(-0.1), json(1.0), json("0.1"), json(false)})
        EXPECT_EQ(refusal("gpt2", "resid_pdrop", value), "/resid_pdrop") << value;
    for (const json& value : {json(1), json("false"), json::array()})
        EXPECT_EQ(refusal("llama3-8b", "tie_word_embeddings", value), "/tie_word_embeddings") << value;
}

TEST_F(HuggingFace, ContradictionsPointAtTheKeysOfTheFile) {
    EXPECT_EQ(refusal("llama3-8b", "num_key_value_heads", 5), "/num_key_value_heads");
    EXPECT_EQ(message_, "5 does not divide the 32 heads");
    EXPECT_EQ(refusal("llama3-8b", "num_attention_heads", 30), "/num_attention_heads");
    EXPECT_EQ(refusal("gpt2", "n_head", 7), "/n_head");
    EXPECT_EQ(refusal("llama3-8b", "head_dim", 127), "/head_dim");
    EXPECT_EQ(refusal("gpt2", "n_layer", 4000000000u), "/n_layer");
    EXPECT_EQ(refusal("gpt2", "n_embd", 4294967292u), "/n_embd");
    EXPECT_EQ(refusal("bert-base", "vocab_size", 4000000000u), "/vocab_size");
    EXPECT_EQ(refusal("gpt2", "attn_pdrop", 0.0), "/attn_pdrop");
}

TEST_F(HuggingFace, UnsupportedStructures) {
    EXPECT_EQ(refusal("llama3-8b", "attention_dropout", 0.1), "/attention_dropout");
    EXPECT_EQ(refusal("llama3-8b", "mlp_bias", true), "/mlp_bias");
    EXPECT_EQ(refusal("llama3-8b", "hidden_act", "gelu"), "/hidden_act");
    EXPECT_EQ(refusal("gpt2", "activation_function", "relu"), "/activation_function");
    EXPECT_EQ(refusal("gpt2", "add_cross_attention", true), "/add_cross_attention");
    EXPECT_EQ(refusal("gpt-neox-20b", "attention_bias", false), "/attention_bias");
    EXPECT_EQ(refusal("qwen3-8b", "attention_bias", true), "/attention_bias");
    EXPECT_EQ(refusal("bert-base", "is_decoder", true), "/is_decoder");
    EXPECT_EQ(refusal("bert-base", "position_embedding_type", "relative_key"), "/position_embedding_type");
    EXPECT_EQ(refusal("llama3-8b", "num_local_experts", 8), "/num_local_experts");
    EXPECT_NE(message_.find("mixture-of-experts"), std::string::npos);
    EXPECT_EQ(refusal("mixtral-8x7b", "num_local_experts", nullptr), "/num_local_experts");
    EXPECT_EQ(refusal("mixtral-8x7b", "num_experts_per_tok", 9), "/num_experts_per_tok");
    EXPECT_EQ(refusal("qwen3-30b-a3b", "moe_intermediate_size", nullptr), "/moe_intermediate_size");
    EXPECT_EQ(refusal("qwen3-30b-a3b", "mlp_only_layers", {3}), "/mlp_only_layers");
    EXPECT_EQ(refusal("llama3-8b", "kv_lora_rank", 512), "/kv_lora_rank");
    EXPECT_NE(message_.find("latent attention"), std::string::npos);
    EXPECT_EQ(refusal("bloom-176b", "apply_residual_connection_post_layernorm", true),
              "/apply_residual_connection_post_layernorm");
    EXPECT_EQ(refusal("mpt-7b", "attn_config", {{"alibi", false}}), "/attn_config/alibi");
    EXPECT_EQ(refusal("mpt-7b", "attn_config", {{"attn_pdrop", 0.1}}), "/attn_config/attn_pdrop");
    EXPECT_EQ(refusal("mpt-7b", "attn_config", {{"qk_ln", 1}}), "/attn_config/qk_ln");
    EXPECT_EQ(refusal("mpt-7b", "attn_config", 3), "/attn_config");
    EXPECT_EQ(refusal("mpt-7b", "no_bias", false), "/no_bias");
    EXPECT_EQ(refusal("bloom-176b", "n_embed", 14337), "/num_attention_heads");
    EXPECT_EQ(refusal("llama3-8b", "is_encoder_decoder", true), "/is_encoder_decoder");
}

TEST_F(HuggingFace, OneArchitectureOfTwoFamilies) {
    json kimi = shipped("deepseek-v3");
    kimi["model_type"] = "kimi_k2";
    kimi["num_attention_heads"] = kimi["num_key_value_heads"] = 64;
    kimi["n_routed_experts"] = 384;
    kimi["first_k_dense_replace"] = 1;
    kimi["vocab_size"] = 163840;
    kimi["n_group"] = kimi["topk_group"] = 1;
    ModelSpec expected = find("kimi-k2");
    expected.name = "model";
    EXPECT_EQ(import(kimi), expected);
    EXPECT_EQ(refusal("deepseek-v3", "model_type", "llama"), "/architectures/0");
    EXPECT_EQ(refusal("deepseek-v3", "attention_bias", true), "/attention_bias");
    EXPECT_EQ(refusal("deepseek-v3", "v_head_dim", 127), "/v_head_dim");
    EXPECT_EQ(refusal("deepseek-v3", "first_k_dense_replace", 61), "/first_k_dense_replace");
    EXPECT_EQ(refusal("gpt-oss-120b", "layer_types", {"full_attention"}), "/layer_types");
}

TEST_F(HuggingFace, UnsupportedFamiliesSaySo) {
    const std::vector<std::array<std::string, 3>> families{
        {"phimoe", "PhiMoEForCausalLM", "mixture of experts"},
        {"mamba", "MambaForCausalLM", "state-space"},
        {"longt5", "LongT5ForConditionalGeneration", "encoder-decoder"},
        {"bart", "BartForConditionalGeneration", "encoder-decoder"},
        {"yi", "YiForCausalLM", "not supported"}};
    for (const auto& [type, architecture, word] : families) {
        EXPECT_EQ(refusal(json{{"model_type", type}}.dump()), "/model_type");
        EXPECT_NE(message_.find(word), std::string::npos) << message_;
        EXPECT_EQ(refusal(json{{"architectures", {architecture}}}.dump()), "/architectures/0");
        EXPECT_NE(message_.find(word), std::string::npos) << message_;
    }
    EXPECT_EQ(refusal("bert-base", "architectures", {"BertForSequenceClassification"}), "/architectures/0");
    EXPECT_EQ(refusal("llama3-8b", "model_type", "mistral"), "/architectures/0");
    EXPECT_EQ(refusal("llama3-8b", "architectures", {3}), "/architectures/0");
    EXPECT_EQ(refusal("llama3-8b", "architectures", "LlamaForCausalLM"), "/architectures");
    EXPECT_EQ(refusal("llama3-8b", "model_type", 3), "/model_type");
}

TEST_F(HuggingFace, DocumentsThatAreNoConfiguration) {
    for (const std::string text : {"", "{", "not json", "[]", "3", "null", "\"gpt2\"", "{\"a\":}", "\xff\xfe{}"})
        EXPECT_EQ(refusal(text), "") << text;
    EXPECT_EQ(refusal(std::string(100'000, '[')), "");
    EXPECT_EQ(refusal("{}"), "/model_type");
    EXPECT_EQ(refusal(R"({"model_type": "llama", "num_hidden_layers": 1e999})"), "");
}

TEST_F(HuggingFace, FilesThatCannotBeRead) {
    EXPECT_THROW(import_hugging_face(directory_ / "absent.json"), Error);
    EXPECT_THROW(import_hugging_face(directory_), Error);
    EXPECT_THROW(import_hugging_face(""), Error);
}

}  // namespace
}  // namespace orrery::models
