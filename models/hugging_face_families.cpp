// Keys, and the defaults of absent ones, are those of transformers' configuration_<family>.py. A key that would change
// the model in a way that ModelSpec cannot express is refused, never ignored.
#include "models/hugging_face_families.hpp"

#include <fmt/format.h>

#include <array>
#include <cstdint>
#include <initializer_list>
#include <string>

namespace orrery::models {

namespace {

constexpr Keys common_keys{};
constexpr Keys gpt2_keys{
    .layers = "n_layer", .hidden = "n_embd", .heads = "n_head", .ffn = "n_inner", .positions = "n_positions"};
constexpr Keys bloom_keys{.layers = "n_layer", .hidden = "n_embed", .heads = "n_head", .ffn = "", .positions = ""};
constexpr Keys mpt_keys{.layers = "n_layers", .hidden = "d_model", .heads = "n_heads", .ffn = "", .positions = ""};
constexpr Keys mixtral_keys{.experts = "num_local_experts"}, qwen3_moe_keys{.experts = "num_experts"},
    deepseek_keys{.experts = "n_routed_experts", .latent = true};

std::uint32_t even_head_dim(const ConfigReader& config, const Keys& keys, const ModelSpec& spec) {
    if (spec.hidden % spec.heads != 0)
        config.fail(keys.heads, fmt::format("{} does not divide {} {}", spec.heads, keys.hidden, spec.hidden),
                    "a number of heads that divides it, or head_dim where the family has it");
    return spec.hidden / spec.heads;
}

ModelSpec common(const ConfigReader& config, const Keys& keys) {
    ModelSpec spec;
    spec.layers = config.count(keys.layers);
    spec.hidden = config.count(keys.hidden);
    spec.heads = spec.kv_heads = config.count(keys.heads);
    spec.vocab = config.count("vocab_size");
    return spec;
}

/// One dropout rate per model: different rates in one file are refused.
double dropout(const ConfigReader& config, std::initializer_list<std::string_view> keys, double otherwise) {
    const double first = config.probability(*keys.begin(), otherwise);
    for (const auto key : keys)
        if (const double rate = config.probability(key, otherwise); rate != first)
            config.fail(key, fmt::format("{} differs from {} {}", rate, *keys.begin(), first),
                        "models have one dropout rate here: give both keys the same");
    return first;
}

void check_activation(const ConfigReader& config, std::string_view key, std::string_view otherwise, bool gated) {
    const std::string found = config.text(key).value_or(std::string(otherwise));
    const bool known = gated ? found == "silu" || found == "swish" : found == "quick_gelu" || found.starts_with("gelu");
    if (!known)
        config.fail(key, fmt::format("activation \"{}\" is not supported", found),
                    gated ? "silu" : "gelu, gelu_new, ...");
}

void refuse_if(const ConfigReader& config, std::string_view key, bool otherwise, bool refused) {
    if (config.flag(key, otherwise) == refused)
        config.fail(key, fmt::format("{} is not supported", refused), fmt::format("{} alone is", !refused));
}

ModelSpec read_gpt2(const ConfigReader& config, const Keys& keys) {
    ModelSpec spec = common(config, keys);
    spec.head_dim = even_head_dim(config, keys, spec);
    const auto inner = config.optional_count(keys.ffn);
    if (!inner && spec.hidden > UINT32_MAX / 4)
        config.fail(keys.hidden, fmt::format("{} is too large", spec.hidden), "a smaller width");
    spec.ffn = inner.value_or(4 * spec.hidden);
    spec.max_positions = config.count(keys.positions);
    spec.tied_embeddings = config.flag("tie_word_embeddings", true);
    spec.dropout = dropout(config, {"resid_pdrop", "embd_pdrop", "attn_pdrop"}, 0.1);
    check_activation(config, "activation_function", "gelu_new", false);
    refuse_if(config, "add_cross_attention", false, true);
    return spec;
}

ModelSpec read_gpt_neox(const ConfigReader& config, const Keys& keys) {
    ModelSpec spec = common(config, keys);
    spec.head_dim = even_head_dim(config, keys, spec);
    spec.ffn = config.count(keys.ffn);
    spec.position = PositionKind::rope;
    spec.parallel_residual = config.flag("use_parallel_residual", true);
    spec.tied_embeddings = config.flag("tie_word_embeddings", false);
    spec.dropout = dropout(config, {"hidden_dropout", "attention_dropout"}, 0.0);
    check_activation(config, "hidden_act", "gelu", false);
    refuse_if(config, "attention_bias", true, false);
    return spec;
}

/// An MLP four times as wide; ALiBi has no table of positions.
ModelSpec read_bloom(const ConfigReader& config, const Keys& keys) {
    ModelSpec spec = common(config, keys);
    spec.head_dim = even_head_dim(config, keys, spec);
    if (spec.hidden > UINT32_MAX / 4)
        config.fail(keys.hidden, fmt::format("{} is too large", spec.hidden), "a smaller width");
    spec.ffn = 4 * spec.hidden;
    spec.position = PositionKind::alibi;
    spec.embedding_norm = true;
    spec.tied_embeddings = config.flag("tie_word_embeddings", true);
    spec.dropout = dropout(config, {"hidden_dropout", "attention_dropout"}, 0.0);
    refuse_if(config, "apply_residual_connection_post_layernorm", false, true);
    return spec;
}

/// ALiBi and no biases, as all published members have it; norms with a weight alone move what RMS norms do.
ModelSpec read_mpt(const ConfigReader& config, const Keys& keys) {
    ModelSpec spec = common(config, keys);
    spec.head_dim = even_head_dim(config, keys, spec);
    const std::uint32_t ratio = config.optional_count("expansion_ratio").value_or(4);
    if (spec.hidden > UINT32_MAX / ratio)
        config.fail("expansion_ratio", fmt::format("{} is too large", ratio), "a smaller one");
    spec.ffn = ratio * spec.hidden;
    spec.norm = NormKind::rmsnorm;
    spec.position = PositionKind::alibi;
    spec.linear_bias = spec.qkv_bias = false;
    spec.tied_embeddings = config.flag("tie_word_embeddings", true);
    spec.dropout = dropout(config, {"resid_pdrop", "emb_pdrop"}, 0.0);
    refuse_if(config, "no_bias", true, false);
    const ConfigReader attention = config.object("attn_config");
    refuse_if(attention, "alibi", true, false);
    refuse_if(attention, "qk_ln", false, true);
    refuse_if(attention, "prefix_lm", false, true);
    if (attention.probability("attn_pdrop", 0.0) != spec.dropout)
        attention.fail("attn_pdrop", "differs from resid_pdrop",
                       "models have one dropout rate here: give both the same");
    return spec;
}

/// What Llama, Mistral and Qwen share.
ModelSpec read_gated(const ConfigReader& config, const Keys& keys) {
    ModelSpec spec = common(config, keys);
    spec.family = Family::llama;
    spec.ffn = config.count(keys.ffn);
    spec.gated = true;
    spec.linear_bias = spec.qkv_bias = false;
    spec.norm = NormKind::rmsnorm;
    spec.position = PositionKind::rope;
    spec.tied_embeddings = config.flag("tie_word_embeddings", false);
    spec.dropout = config.probability("attention_dropout", 0.0);
    if (spec.dropout > 0.0)
        config.fail("attention_dropout", fmt::format("{}: dropout in attention alone is not supported", spec.dropout),
                    "set it to 0");
    check_activation(config, "hidden_act", "silu", true);
    return spec;
}

/// null stands for one key-value head per head; an absent key has a default of its own in each family.
std::uint32_t kv_heads(const ConfigReader& config, std::uint32_t heads) {
    return config.has_null("num_key_value_heads") ? heads : config.count("num_key_value_heads");
}

ModelSpec read_llama(const ConfigReader& config, const Keys& keys) {
    ModelSpec spec = read_gated(config, keys);
    spec.kv_heads = config.optional_count("num_key_value_heads").value_or(spec.heads);
    const auto head_dim = config.optional_count("head_dim");
    spec.head_dim = head_dim ? *head_dim : even_head_dim(config, keys, spec);
    spec.qkv_bias = spec.linear_bias = config.flag("attention_bias", false);  // queries, keys, values, projection
    if (config.flag("mlp_bias", false) != spec.linear_bias)
        config.fail("mlp_bias", "differs from attention_bias", "linear layers have biases everywhere or nowhere here");
    return spec;
}

ModelSpec read_mistral(const ConfigReader& config, const Keys& keys) {
    ModelSpec spec = read_gated(config, keys);
    spec.kv_heads = kv_heads(config, spec.heads);
    const auto head_dim = config.optional_count("head_dim");
    spec.head_dim = head_dim ? *head_dim : even_head_dim(config, keys, spec);
    const std::uint32_t absent = config.has_null("sliding_window") ? 0 : 4096;
    spec.attention_window = config.optional_count("sliding_window").value_or(absent);
    return spec;
}

std::uint32_t qwen_window(const ConfigReader& config) {
    return config.flag("use_sliding_window", false) ? config.optional_count("sliding_window").value_or(4096) : 0;
}

ModelSpec read_qwen2(const ConfigReader& config, const Keys& keys) {
    ModelSpec spec = read_gated(config, keys);
    spec.kv_heads = kv_heads(config, spec.heads);
    const auto head_dim = config.optional_count("head_dim");
    spec.head_dim = head_dim ? *head_dim : even_head_dim(config, keys, spec);
    spec.qkv_bias = true;
    spec.attention_window = qwen_window(config);
    return spec;
}

ModelSpec read_qwen3(const ConfigReader& config, const Keys& keys) {
    ModelSpec spec = read_gated(config, keys);
    spec.kv_heads = kv_heads(config, spec.heads);
    spec.head_dim = config.optional_count("head_dim").value_or(128);
    spec.qk_norm = true;
    spec.attention_window = qwen_window(config);
    refuse_if(config, "attention_bias", false, true);
    return spec;
}

/// Mistral's layers; each MLP is one of several experts.
ModelSpec read_mixtral(const ConfigReader& config, const Keys& keys) {
    ModelSpec spec = read_gated(config, keys);
    spec.kv_heads = kv_heads(config, spec.heads);
    const auto head_dim = config.optional_count("head_dim");
    spec.head_dim = head_dim ? *head_dim : even_head_dim(config, keys, spec);
    spec.attention_window = config.optional_count("sliding_window").value_or(0);
    spec.experts = config.count(keys.experts);
    spec.experts_per_token = config.optional_count("num_experts_per_tok").value_or(2);
    spec.expert_ffn = spec.ffn;
    spec.moe_layer_freq = 1;
    return spec;
}

ModelSpec read_qwen3_moe(const ConfigReader& config, const Keys& keys) {
    ModelSpec spec = read_qwen3(config, keys);
    spec.experts = config.count(keys.experts);
    spec.experts_per_token = config.optional_count("num_experts_per_tok").value_or(8);
    spec.expert_ffn = config.count("moe_intermediate_size");
    spec.moe_layer_freq = 1;
    if (config.optional_count("decoder_sparse_step").value_or(1) != 1)
        config.fail("decoder_sparse_step", "layers without experts between those with them are not supported", "1");
    if (config.has_entries("mlp_only_layers"))
        config.fail("mlp_only_layers", "single layers without experts are not supported", "[]");
    return spec;
}

/// Layers with experts in every layer behind the first; what one layer more would predict beside the next token
/// (num_nextn_predict_layers) is left out, as transformers leaves it out.
ModelSpec read_deepseek(const ConfigReader& config, const Keys& keys) {
    ModelSpec spec = read_gated(config, keys);
    spec.q_lora_rank = config.optional_count("q_lora_rank").value_or(0);
    spec.kv_lora_rank = config.count("kv_lora_rank");
    spec.rope_head_dim = config.count("qk_rope_head_dim");
    spec.v_head_dim = config.count("v_head_dim");
    const std::uint32_t plain = config.count("qk_nope_head_dim");
    if (plain > UINT32_MAX - spec.rope_head_dim)
        config.fail("qk_nope_head_dim", fmt::format("{} is too large", plain), "a smaller width");
    spec.head_dim = plain + spec.rope_head_dim;
    spec.experts = config.count(keys.experts);
    spec.experts_per_token = config.count("num_experts_per_tok");
    spec.expert_ffn = config.count("moe_intermediate_size");
    const std::uint32_t shared = config.optional_count("n_shared_experts").value_or(0);
    if (shared > 0 && spec.expert_ffn > UINT32_MAX / shared)
        config.fail("n_shared_experts", fmt::format("{} is too large", shared), "a smaller number");
    spec.shared_expert_ffn = shared * spec.expert_ffn;
    spec.moe_layer_freq = config.optional_count("moe_layer_freq").value_or(1);
    spec.dense_layers = config.optional_count("first_k_dense_replace").value_or(0);
    refuse_if(config, "attention_bias", false, true);
    return spec;
}

/// Every other layer sees a window; linear layers, routers and experts have biases.
ModelSpec read_gpt_oss(const ConfigReader& config, const Keys& keys) {
    ModelSpec spec = read_gated(config, keys);
    spec.kv_heads = kv_heads(config, spec.heads);
    spec.head_dim = config.optional_count("head_dim").value_or(64);
    spec.qkv_bias = spec.linear_bias = config.flag("attention_bias", true);
    spec.attention_window = config.optional_count("sliding_window").value_or(128);
    spec.window_pattern = 2;
    const auto layers = config.texts("layer_types");
    for (std::size_t i = 0; i < layers.size(); ++i)
        if (layers[i] != (i % 2 == 0 ? "sliding_attention" : "full_attention"))
            config.fail("layer_types", "other than a window in every other layer is not supported",
                        "sliding_attention and full_attention in turn");
    spec.experts = config.count(keys.experts);
    spec.experts_per_token = config.optional_count("num_experts_per_tok").value_or(4);
    spec.expert_ffn = spec.ffn;
    spec.moe_layer_freq = 1;
    return spec;
}

ModelSpec read_bert(const ConfigReader& config, const Keys& keys) {
    ModelSpec spec = common(config, keys);
    spec.family = Family::bert;
    spec.head_dim = even_head_dim(config, keys, spec);
    spec.ffn = config.count(keys.ffn);
    spec.max_positions = config.count(keys.positions);
    spec.token_types = config.optional_count("type_vocab_size").value_or(2);
    spec.causal = false;
    spec.post_norm = spec.embedding_norm = spec.mlm_head = true;
    spec.tied_embeddings = config.flag("tie_word_embeddings", true);
    spec.dropout = dropout(config, {"hidden_dropout_prob", "attention_probs_dropout_prob"}, 0.1);
    check_activation(config, "hidden_act", "gelu", false);
    refuse_if(config, "is_decoder", false, true);
    if (const auto kind = config.text("position_embedding_type").value_or("absolute"); kind != "absolute")
        config.fail("position_embedding_type", fmt::format("\"{}\" is not supported", kind), "absolute");
    return spec;
}

constexpr std::array<FamilyReader, 15> readers{{
    {"gpt2", "GPT2LMHeadModel", gpt2_keys, read_gpt2},
    {"gpt_neox", "GPTNeoXForCausalLM", common_keys, read_gpt_neox},
    {"bloom", "BloomForCausalLM", bloom_keys, read_bloom},
    {"mpt", "MPTForCausalLM", mpt_keys, read_mpt},
    {"mpt", "MptForCausalLM", mpt_keys, read_mpt},
    {"llama", "LlamaForCausalLM", common_keys, read_llama},
    {"mistral", "MistralForCausalLM", common_keys, read_mistral},
    {"qwen2", "Qwen2ForCausalLM", common_keys, read_qwen2},
    {"qwen3", "Qwen3ForCausalLM", common_keys, read_qwen3},
    {"bert", "BertForMaskedLM", common_keys, read_bert},
    {"mixtral", "MixtralForCausalLM", mixtral_keys, read_mixtral},
    {"qwen3_moe", "Qwen3MoeForCausalLM", qwen3_moe_keys, read_qwen3_moe},
    {"gpt_oss", "GptOssForCausalLM", mixtral_keys, read_gpt_oss},
    {"deepseek_v3", "DeepseekV3ForCausalLM", deepseek_keys, read_deepseek},
    {"kimi_k2", "DeepseekV3ForCausalLM", deepseek_keys, read_deepseek},
}};

}  // namespace

std::span<const FamilyReader> family_readers() { return readers; }

Keys spelled(const ConfigReader& config, const Keys& own) {
    Keys keys = own;
    for (const auto member : {&Keys::layers, &Keys::hidden, &Keys::heads, &Keys::positions})
        if (!config.has(keys.*member) && config.has(common_keys.*member)) keys.*member = common_keys.*member;
    return keys;
}

}  // namespace orrery::models
