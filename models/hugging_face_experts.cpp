// Decoders with a mixture of experts: Hugging Face config.json to ModelSpec.
// Keys, and the defaults of absent ones, are those of transformers' configuration_<family>.py. A key that would change
// the model in a way that ModelSpec cannot express is refused, never ignored.
#include <fmt/format.h>

#include <array>

#include "models/hugging_face_parts.hpp"

namespace orrery::models {

namespace {

constexpr Keys mixtral_keys{.experts = "num_local_experts"}, qwen3_moe_keys{.experts = "num_experts"},
    qwen2_moe_keys{.experts = "num_experts", .shared = true},
    deepseek_keys{.experts = "n_routed_experts", .latent = true};

/// Of so many layers the last has experts (decoder_sparse_step, interleave_moe_layer_step); 1: all have.
void read_sparse_step(const ConfigReader& config, std::string_view key, ModelSpec& spec) {
    spec.moe_layer_freq = config.optional_count(key).value_or(1);
    spec.moe_layer_offset = spec.moe_layer_freq - 1;
}

/// Mistral's layers; each MLP is one of several experts.
ModelSpec read_mixtral(const ConfigReader& config, const Keys& keys) {
    ModelSpec spec = read_gated(config, keys);
    spec.kv_heads = kv_heads(config, spec.heads);
    spec.head_dim = stated_head_dim(config, keys, spec);
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
    read_sparse_step(config, "decoder_sparse_step", spec);
    if (config.has_entries("mlp_only_layers"))
        config.fail("mlp_only_layers", "single layers without experts are not supported", "[]");
    return spec;
}

/// Beside its experts, one that every token takes, weighted by a sigmoid (Qwen1.5-MoE, Qwen2-57B-A14B).
ModelSpec read_qwen2_moe(const ConfigReader& config, const Keys& keys) {
    ModelSpec spec = read_qwen2(config, keys);
    spec.experts = config.count(keys.experts);
    spec.experts_per_token = config.optional_count("num_experts_per_tok").value_or(4);
    spec.expert_ffn = config.count("moe_intermediate_size");
    spec.shared_expert_ffn = config.count("shared_expert_intermediate_size");
    spec.shared_expert_gate = true;
    read_sparse_step(config, "decoder_sparse_step", spec);
    if (config.has_entries("mlp_only_layers"))
        config.fail("mlp_only_layers", "single layers without experts are not supported", "[]");
    return spec;
}

/// intermediate_size is an expert's width, and that of the one every token takes; intermediate_size_mlp a dense
/// layer's. The layers without rotary positions (no_rope_layers) are priced with them.
ModelSpec read_llama4(const ConfigReader& config, const Keys& keys) {
    ModelSpec spec = read_gated(config, keys);
    spec.kv_heads = kv_heads(config, spec.heads);
    spec.head_dim = stated_head_dim(config, keys, spec);
    spec.qk_norm = config.flag("use_qk_norm", true);
    spec.attention_chunk =
        config.has_null("attention_chunk_size") ? 0 : config.optional_count("attention_chunk_size").value_or(8192);
    spec.expert_ffn = spec.shared_expert_ffn = spec.ffn;
    spec.ffn = config.count("intermediate_size_mlp");
    spec.experts = config.count(keys.experts);
    spec.experts_per_token = config.optional_count("num_experts_per_tok").value_or(1);
    read_sparse_step(config, "interleave_moe_layer_step", spec);
    refuse_if(config, "attention_bias", false, true);
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
    const std::uint32_t groups = config.optional_count("n_group").value_or(0);
    if (groups > 1 && config.text("topk_method") != "greedy") {  // which looks at no groups
        spec.router_groups = groups;
        spec.router_top_groups = config.optional_count("topk_group").value_or(0);
    }
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
    check_layer_types(config, spec.window_pattern, "sliding_attention");
    spec.experts = config.count(keys.experts);
    spec.experts_per_token = config.optional_count("num_experts_per_tok").value_or(4);
    spec.expert_ffn = spec.ffn;
    spec.moe_layer_freq = 1;
    return spec;
}

constexpr std::array<FamilyReader, 9> readers{{
    {"mixtral", "MixtralForCausalLM", mixtral_keys, read_mixtral},
    {"qwen2_moe", "Qwen2MoeForCausalLM", qwen2_moe_keys, read_qwen2_moe},
    {"qwen3_moe", "Qwen3MoeForCausalLM", qwen3_moe_keys, read_qwen3_moe},
    {"gpt_oss", "GptOssForCausalLM", mixtral_keys, read_gpt_oss},
    {"deepseek_v2", "DeepseekV2ForCausalLM", deepseek_keys, read_deepseek},
    {"deepseek_v3", "DeepseekV3ForCausalLM", deepseek_keys, read_deepseek},
    {"kimi_k2", "DeepseekV3ForCausalLM", deepseek_keys, read_deepseek},
    {"llama4_text", "Llama4ForCausalLM", mixtral_keys, read_llama4},
    {"llama4", "Llama4ForConditionalGeneration", mixtral_keys, read_llama4, "text_config"},
}};

}  // namespace

std::span<const FamilyReader> expert_readers() { return readers; }

}  // namespace orrery::models
