// Decoders with RMSNorm and a gated MLP: Hugging Face config.json to ModelSpec.
// Keys, and the defaults of absent ones, are those of transformers' configuration_<family>.py. A key that would change
// the model in a way that ModelSpec cannot express is refused, never ignored.
#include <fmt/format.h>

#include <array>

#include "models/hugging_face_parts.hpp"

namespace orrery::models {

namespace {

constexpr Keys common_keys{};
constexpr Keys gemma3_keys{.usual_heads = 8, .usual_kv_heads = 4, .usual_vocab = 262208};

ModelSpec read_llama(const ConfigReader& config, const Keys& keys) {
    ModelSpec spec = read_gated(config, keys);
    spec.kv_heads = config.optional_count("num_key_value_heads").value_or(spec.heads);
    spec.head_dim = stated_head_dim(config, keys, spec);
    spec.qkv_bias = spec.linear_bias = config.flag("attention_bias", false);  // queries, keys, values, projection
    if (config.flag("mlp_bias", false) != spec.linear_bias)
        config.fail("mlp_bias", "differs from attention_bias", "linear layers have biases everywhere or nowhere here");
    return spec;
}

ModelSpec read_mistral(const ConfigReader& config, const Keys& keys) {
    ModelSpec spec = read_gated(config, keys);
    spec.kv_heads = kv_heads(config, spec.heads);
    spec.head_dim = stated_head_dim(config, keys, spec);
    const std::uint32_t absent = config.has_null("sliding_window") ? 0 : 4096;
    spec.attention_window = config.optional_count("sliding_window").value_or(absent);
    return spec;
}

ModelSpec read_phi3(const ConfigReader& config, const Keys& keys) {
    ModelSpec spec = read_gated(config, keys);
    spec.kv_heads = config.optional_count("num_key_value_heads").value_or(spec.heads);
    spec.head_dim = even_head_dim(config, keys, spec);
    spec.attention_window = config.optional_count("sliding_window").value_or(0);
    (void)dropout(config, {"attention_dropout", "resid_pdrop", "embd_pdrop"}, 0.0);
    return spec;
}

/// Norms behind the branches alone, and over whole queries and keys (arXiv:2501.00656, section 3.2).
ModelSpec read_olmo2(const ConfigReader& config, const Keys& keys) {
    ModelSpec spec = read_gated(config, keys);
    spec.kv_heads = config.optional_count("num_key_value_heads").value_or(spec.heads);
    spec.head_dim = stated_head_dim(config, keys, spec);
    spec.input_norm = false;
    spec.output_norm = spec.qk_norm = spec.qk_norm_whole = true;
    refuse_if(config, "attention_bias", false, true);
    return spec;
}

/// Heads of 256 columns and a GEGLU; words are the logits' weight.
ModelSpec read_gemma(const ConfigReader& config, const Keys& keys) {
    ModelSpec spec = read_gated(config, keys, ActivationKind::gelu);
    const bool usual = keys.usual_kv_heads > 0 && !config.has("num_key_value_heads");
    spec.kv_heads = usual ? keys.usual_kv_heads : kv_heads(config, spec.heads);
    spec.head_dim = config.optional_count("head_dim").value_or(256);
    spec.tied_embeddings = config.flag("tie_word_embeddings", true);
    const std::string_view key = config.has("hidden_activation") ? "hidden_activation" : "hidden_act";
    check_activation(config, key, "gelu_pytorch_tanh", false);
    refuse_if(config, "attention_bias", false, true);
    return spec;
}

/// Norms on both sides of a branch; every other layer sees a window (arXiv:2408.00118, section 2).
ModelSpec read_gemma2(const ConfigReader& config, const Keys& keys) {
    ModelSpec spec = read_gemma(config, keys);
    spec.output_norm = true;
    spec.attention_window = config.optional_count("sliding_window").value_or(4096);
    spec.window_pattern = 2;
    check_layer_types(config, spec.window_pattern, "sliding_attention");
    return spec;
}

/// Norms of queries and keys; five layers with a window and one without (arXiv:2503.19786, section 2).
ModelSpec read_gemma3(const ConfigReader& config, const Keys& keys) {
    ModelSpec spec = read_gemma2(config, keys);
    spec.qk_norm = true;
    spec.window_pattern = config.optional_count("sliding_window_pattern").value_or(6);
    check_layer_types(config, spec.window_pattern, "sliding_attention");
    return spec;
}

/// Layers from max_window_layers on have it (transformers, configuration_qwen2.py, layer_types).
std::uint32_t qwen_window(const ConfigReader& config, std::uint32_t layers) {
    if (!config.flag("use_sliding_window", false)) return 0;
    const std::uint32_t first = config.optional_count("max_window_layers", 0).value_or(28);
    if (first >= layers) return 0;
    if (first > 0)
        config.fail("max_window_layers", fmt::format("windows in the layers from {} on alone are not modelled", first),
                    "0 for a window in all layers, or use_sliding_window false for none");
    return config.optional_count("sliding_window").value_or(4096);
}

/// The first Qwen (arXiv:2309.16609, section 2.3): intermediate_size counts both halves of the gated MLP.
ModelSpec read_qwen(const ConfigReader& config, const Keys& keys) {
    ModelSpec spec = read_gated(config, keys);
    spec.head_dim = config.optional_count("kv_channels").value_or(128);
    if (spec.ffn % 2 != 0)
        config.fail(keys.ffn, fmt::format("{} is odd, but counts both halves of a gated MLP", spec.ffn),
                    "an even width");
    spec.ffn /= 2;
    spec.qkv_bias = true;
    (void)dropout(config, {"attn_dropout_prob", "emb_dropout_prob"}, 0.0);
    refuse_if(config, "no_bias", true, false);
    return spec;
}

constexpr std::array<FamilyReader, 11> readers{{
    {"llama", "LlamaForCausalLM", common_keys, read_llama},
    {"mistral", "MistralForCausalLM", common_keys, read_mistral},
    {"qwen", "QWenLMHeadModel", common_keys, read_qwen},
    {"qwen2", "Qwen2ForCausalLM", common_keys, read_qwen2},
    {"qwen3", "Qwen3ForCausalLM", common_keys, read_qwen3},
    {"phi3", "Phi3ForCausalLM", common_keys, read_phi3},
    {"olmo2", "Olmo2ForCausalLM", common_keys, read_olmo2},
    {"gemma", "GemmaForCausalLM", common_keys, read_gemma},
    {"gemma2", "Gemma2ForCausalLM", common_keys, read_gemma2},
    {"gemma3_text", "Gemma3ForCausalLM", gemma3_keys, read_gemma3},
    {"gemma3", "Gemma3ForConditionalGeneration", gemma3_keys, read_gemma3, "text_config"},
}};

}  // namespace

ModelSpec read_qwen2(const ConfigReader& config, const Keys& keys) {
    ModelSpec spec = read_gated(config, keys);
    spec.kv_heads = kv_heads(config, spec.heads);
    spec.head_dim = stated_head_dim(config, keys, spec);
    spec.qkv_bias = true;
    spec.attention_window = qwen_window(config, spec.layers);
    return spec;
}

ModelSpec read_qwen3(const ConfigReader& config, const Keys& keys) {
    ModelSpec spec = read_gated(config, keys);
    spec.kv_heads = kv_heads(config, spec.heads);
    spec.head_dim = config.optional_count("head_dim").value_or(128);
    spec.qk_norm = true;
    spec.attention_window = qwen_window(config, spec.layers);
    refuse_if(config, "attention_bias", false, true);
    return spec;
}

std::span<const FamilyReader> llama_readers() { return readers; }

}  // namespace orrery::models
