// Decoders with a mixture of experts: Mixtral, Qwen3-MoE, DeepSeek, GPT-OSS, and GPT with experts in every other layer.
#include <utility>

#include "models/families.hpp"

namespace orrery::models {

namespace {

/// Llama's structure, here and below; every layer has experts.
ModelSpec mixtral(ModelSpec row) {
    row.kv_heads = 8;
    row.experts = 8;
    row.experts_per_token = 2;
    return with_llama_structure(std::move(row));
}

/// ffn: of a dense layer, of which these models have none (mlp_only_layers is empty).
ModelSpec qwen3(ModelSpec row) {
    row.vocab = 151936;
    row.kv_heads = 4;
    row.head_dim = 128;
    row.qk_norm = true;
    row.experts = 128;
    row.experts_per_token = 8;
    return with_llama_structure(std::move(row));
}

/// DeepSeek-V3's layers (arXiv:2412.19437, section 4.2): latent attention, and experts of which every token takes one
/// and a choice of the others.
ModelSpec deepseek(ModelSpec row) {
    row.head_dim = 192;
    row.q_lora_rank = 1536;
    row.kv_lora_rank = 512;
    row.rope_head_dim = 64;
    row.v_head_dim = 128;
    row.ffn = 18432;
    row.expert_ffn = row.shared_expert_ffn = 2048;
    row.experts_per_token = 8;
    return with_llama_structure(std::move(row));
}

/// Biases, and a window of 128 tokens in every other layer.
ModelSpec gpt_oss(ModelSpec row) {
    row.vocab = 201088;
    row.hidden = row.ffn = 2880;
    row.heads = 64;
    row.kv_heads = 8;
    row.head_dim = 64;
    row.attention_window = 128;
    row.window_pattern = 2;
    row.experts_per_token = 4;
    row = with_llama_structure(std::move(row));
    row.linear_bias = row.qkv_bias = true;
    return row;
}

/// GPT-3's structure without dropout; one expert a token, in every other layer.
ModelSpec gpt(ModelSpec row) {
    row.vocab = 50257;
    row.max_positions = 2048;
    row.experts_per_token = 1;
    row.moe_layer_freq = 2;
    return with_derived_widths(std::move(row));
}

}  // namespace

// clang-format off
std::vector<ModelSpec> moe_models() {
    return {
        // Jiang et al. 2024 (Mixtral of Experts), table 1; mistralai/Mixtral-8x7B-v0.1 and -8x22B-v0.1 config.json.
        mixtral({.name = "mixtral-8x7b",  .layers = 32, .hidden = 4096, .heads = 32, .ffn = 14336, .vocab = 32000}),
        mixtral({.name = "mixtral-8x22b", .layers = 56, .hidden = 6144, .heads = 48, .ffn = 16384, .vocab = 32000}),

        // Yang et al. 2025 (Qwen3), table 2; Qwen/Qwen3-30B-A3B and -235B-A22B config.json.
        qwen3({.name = "qwen3-30b-a3b",   .layers = 48, .hidden = 2048, .heads = 32, .ffn = 6144,  .expert_ffn = 768}),
        qwen3({.name = "qwen3-235b-a22b", .layers = 94, .hidden = 4096, .heads = 64, .ffn = 12288, .expert_ffn = 1536}),

        // DeepSeek-AI 2024 (DeepSeek-V3), section 4.2; deepseek-ai/DeepSeek-V3 config.json, without the layer that
        // predicts one more token. Moonshot 2025 (Kimi K2), table 2; moonshotai/Kimi-K2-Instruct config.json.
        deepseek({.name = "deepseek-v3", .layers = 61, .hidden = 7168, .heads = 128, .vocab = 129280,
                  .experts = 256, .dense_layers = 3}),
        deepseek({.name = "kimi-k2",     .layers = 61, .hidden = 7168, .heads = 64,  .vocab = 163840,
                  .experts = 384, .dense_layers = 1}),

        // OpenAI 2025 (gpt-oss-120b & gpt-oss-20b model card, arXiv:2508.10925), table 1; openai/gpt-oss-* config.json.
        gpt_oss({.name = "gpt-oss-20b",  .layers = 24, .experts = 32}),
        gpt_oss({.name = "gpt-oss-120b", .layers = 36, .experts = 128}),

        // Rajbhandari et al. 2022 (DeepSpeed-MoE), table 1: 13B and 52B parameters.
        gpt({.name = "gpt-350m-moe-128", .layers = 24, .hidden = 1024, .heads = 16, .experts = 128}),
        gpt({.name = "gpt-1.3b-moe-128", .layers = 24, .hidden = 2048, .heads = 16, .experts = 128}),
    };
}
// clang-format on

}  // namespace orrery::models
