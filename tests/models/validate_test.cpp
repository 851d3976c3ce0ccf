// Every contradiction of a spec is refused at the key that a user would mend.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "models/catalog.hpp"
#include "models/operators.hpp"

namespace orrery::models {
namespace {

struct Wrong {
    std::string pointer;
    std::function<void(ModelSpec&)> change;
};

std::string pointer_of(const ModelSpec& spec) {
    try {
        validate(spec);
    } catch (const Error& error) {
        EXPECT_FALSE(error.message().empty());
        return error.pointer();
    }
    return "accepted";
}

void expect_refused(std::string_view model, const std::vector<Wrong>& cases) {
    for (const auto& [pointer, change] : cases) {
        ModelSpec spec = find(model);
        change(spec);
        EXPECT_EQ(pointer_of(spec), pointer);
    }
}

TEST(Validate, ZeroWidths) {
    expect_refused("gpt2", {{"/model/num_hidden_layers", [](auto& s) { s.layers = 0; }},
                            {"/model/hidden_size", [](auto& s) { s.hidden = 0; }},
                            {"/model/num_attention_heads", [](auto& s) { s.heads = 0; }},
                            {"/model/num_key_value_heads", [](auto& s) { s.kv_heads = 0; }},
                            {"/model/head_dim", [](auto& s) { s.head_dim = 0; }},
                            {"/model/intermediate_size", [](auto& s) { s.ffn = 0; }},
                            {"/model/vocab_size", [](auto& s) { s.vocab = 0; }},
                            {"/model/max_position_embeddings", [](auto& s) { s.max_positions = 0; }}});
}

TEST(Validate, HugeWidths) {
    constexpr auto huge = std::numeric_limits<std::uint32_t>::max();
    expect_refused("gpt2", {{"/model/num_hidden_layers", [](auto& s) { s.layers = huge; }},
                            {"/model/hidden_size", [](auto& s) { s.hidden = huge; }},
                            {"/model/num_attention_heads", [](auto& s) { s.heads = huge; }},
                            {"/model/num_key_value_heads", [](auto& s) { s.kv_heads = huge; }},
                            {"/model/head_dim", [](auto& s) { s.head_dim = huge; }},
                            {"/model/intermediate_size", [](auto& s) { s.ffn = huge; }},
                            {"/model/vocab_size", [](auto& s) { s.vocab = huge; }},
                            {"/model/max_position_embeddings", [](auto& s) { s.max_positions = huge; }},
                            {"/model/type_vocab_size", [](auto& s) { s.token_types = huge; }}});
}

TEST(Validate, Attention) {
    expect_refused("llama3-8b", {{"/model/num_key_value_heads", [](auto& s) { s.kv_heads = 5; }},
                                 {"/model/num_key_value_heads", [](auto& s) { s.kv_heads = 64; }},
                                 {"/model/head_dim", [](auto& s) { s.head_dim = 127; }},
                                 {"/model/sliding_window",
                                  [](auto& s) {
                                      s.attention_window = 4096;
                                      s.causal = false;
                                  }},
                                 {"/model/max_position_embeddings", [](auto& s) { s.max_positions = 8192; }}});
    expect_refused("gpt2", {{"/model/qk_layernorm", [](auto& s) { s.qk_norm = true; }}});
}

TEST(Validate, WindowsAndLatentAttention) {
    expect_refused("gpt-oss-20b", {{"/model/sliding_window_pattern", [](auto& s) { s.attention_window = 0; }},
                                   {"/model/sliding_window_pattern", [](auto& s) { s.window_pattern = 1; }}});
    expect_refused("llama3-8b", {{"/model/kv_lora_rank", [](auto& s) { s.v_head_dim = 64; }},
                                 {"/model/num_experts", [](auto& s) { s.dense_layers = 1; }}});
    expect_refused("deepseek-v3", {{"/model/v_head_dim", [](auto& s) { s.v_head_dim = 0; }},
                                   {"/model/v_head_dim", [](auto& s) { s.v_head_dim = 127; }},
                                   {"/model/qk_rope_head_dim", [](auto& s) { s.rope_head_dim = 193; }},
                                   {"/model/num_key_value_heads", [](auto& s) { s.kv_heads = 8; }},
                                   {"/model/kv_lora_rank", [](auto& s) { s.linear_bias = true; }},
                                   {"/model/first_k_dense_replace", [](auto& s) { s.dense_layers = 61; }}});
}

TEST(Validate, Structure) {
    expect_refused("bert-base", {{"/model/use_parallel_residual", [](auto& s) { s.parallel_residual = true; }},
                                 {"/model/mlm_head", [](auto& s) { s.causal = true; }},
                                 {"/model/dropout", [](auto& s) { s.dropout = -0.1; }},
                                 {"/model/dropout", [](auto& s) { s.dropout = 1.0; }},
                                 {"/model/dropout", [](auto& s) { s.dropout = std::nan(""); }}});
}

TEST(Validate, HintNamesTheNearestDivisors) {
    ModelSpec spec = find("gpt3-175b");
    spec.kv_heads = 5;
    try {
        validate(spec);
        FAIL() << "accepted";
    } catch (const Error& error) {
        EXPECT_EQ(error.message(), "5 does not divide the 96 heads");
        EXPECT_EQ(error.hint(), "nearest legal values: 4, 6");
    }
}

TEST(Validate, LargestLegalSpecDoesNotOverflow) {
    ModelSpec spec{.name = "largest",
                   .layers = 8192,
                   .hidden = 1 << 20,
                   .heads = 1 << 11,
                   .kv_heads = 1 << 11,
                   .head_dim = 1 << 11,
                   .ffn = 1 << 20,
                   .vocab = 1 << 24,
                   .max_positions = 1 << 22,
                   .token_types = 1 << 24,
                   .gated = true,
                   .tied_embeddings = false};
    const Model model = build(spec);
    const double exact = 6.0 * static_cast<double>(parameters(model.layer("head"))) +
                         6.0 * spec.layers * static_cast<double>(parameters(model.layer("block")));
    EXPECT_NEAR(model_flops(model, 1, 1) / exact, 1.0, 1e-4);
    EXPECT_GT(parameters(model), 170'000'000'000'000'000u);
}

TEST(ValidateSequence, RefusesWhatTheModelCannotTake) {
    EXPECT_NO_THROW(validate_sequence(find("gpt3-175b"), 2048, "/seq"));
    EXPECT_NO_THROW(validate_sequence(find("llama2-7b"), 1'000'000, "/seq"));
    EXPECT_NO_THROW(validate_sequence(find("mistral-7b"), 32768, "/seq")) << "longer than its window";
    EXPECT_THROW(validate_sequence(find("llama2-7b"), 0, "/seq"), Error);
    EXPECT_THROW(validate_sequence(find("gpt3-175b"), 2049, "/seq"), Error);
    try {
        validate_sequence(find("gpt3-175b"), 2049, "/strategy/seq");
        FAIL() << "accepted";
    } catch (const Error& error) {
        EXPECT_EQ(error.pointer(), "/strategy/seq");
    }
}

}  // namespace
}  // namespace orrery::models
