// Decoders with a mixture of experts: Mixtral, Qwen, DeepSeek, GPT-OSS, Llama 4, and GPT with experts
// in every layer or every other.
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

/// Beside the experts one that every token takes, weighted by a sigmoid; biases of queries, keys and values.
ModelSpec qwen2(ModelSpec row) {
    row.vocab = 151936;
    row.shared_expert_gate = true;
    row = with_llama_structure(std::move(row));
    row.qkv_bias = true;
    return row;
}

/// One expert that every token takes, and one of a choice; dense layers are twice as wide. Three of four layers attend
/// within 8,192 tokens, and the fourth has no rotary positions, which is not told apart here.
ModelSpec llama4(ModelSpec row) {
    row.vocab = 202048;
    row.kv_heads = 8;
    row.head_dim = 128;
    row.ffn = 16384;
    row.expert_ffn = row.shared_expert_ffn = 8192;
    row.experts_per_token = 1;
    row.attention_chunk = 8192;
    return with_llama_structure(std::move(row));
}

/// DeepSeek-V3's layers (arXiv:2412.19437, section 4.2): latent attention, and experts of which every token takes one
/// and a choice of the others.
ModelSpec latent(ModelSpec row) {
    row.head_dim = 192;
    row.kv_lora_rank = 512;
    row.rope_head_dim = 64;
    row.v_head_dim = 128;
    return with_llama_structure(std::move(row));
}

ModelSpec deepseek(ModelSpec row) {
    row.q_lora_rank = 1536;
    row.ffn = 18432;
    row.expert_ffn = row.shared_expert_ffn = 2048;
    row.experts_per_token = 8;
    return latent(std::move(row));
}

/// Two experts that every token takes, six of a choice (arXiv:2405.04434, section 3.1.2 and appendix B).
ModelSpec deepseek2(ModelSpec row) {
    row.vocab = 102400;
    row.shared_expert_ffn = 2 * row.expert_ffn;
    row.experts_per_token = 6;
    row.dense_layers = 1;
    return latent(std::move(row));
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

/// T5's layers as a decoder's: no biases, RMS norms and ReLU, positions without a table; one expert a token, or two. An
/// encoder-decoder's layers stand in one stack here, without the attention from one to the other.
ModelSpec switched(ModelSpec row) {
    row.position = PositionKind::none;
    row.norm = NormKind::rmsnorm;
    row.activation = ActivationKind::relu;
    row.linear_bias = row.qkv_bias = false;
    if (row.experts_per_token == 0) row.experts_per_token = 1;
    return with_derived_widths(std::move(row));
}

/// GPT's layers, every one with experts, of which a token takes one of each of two prototypes (Yang et al. 2021,
/// arXiv:2105.15082, section 3.1): priced as two of all.
ModelSpec m6(ModelSpec row) {
    row.hidden = 1024;
    row.heads = 16;
    row.vocab = 21128;
    row.max_positions = 512;
    row.experts_per_token = 2;
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
                  .experts = 256, .router_groups = 8, .router_top_groups = 4, .dense_layers = 3}),
        deepseek({.name = "kimi-k2",     .layers = 61, .hidden = 7168, .heads = 64,  .vocab = 163840,
                  .experts = 384, .dense_layers = 1}),

        // OpenAI 2025 (gpt-oss-120b & gpt-oss-20b model card, arXiv:2508.10925), table 1; openai/gpt-oss-* config.json.
        gpt_oss({.name = "gpt-oss-20b",  .layers = 24, .experts = 32}),
        gpt_oss({.name = "gpt-oss-120b", .layers = 36, .experts = 128}),

        // Rajbhandari et al. 2022 (DeepSpeed-MoE), table 1: 13B and 52B parameters.
        gpt({.name = "gpt-350m-moe-128", .layers = 24, .hidden = 1024, .heads = 16, .experts = 128}),
        gpt({.name = "gpt-1.3b-moe-128", .layers = 24, .hidden = 2048, .heads = 16, .experts = 128}),

        // Qwen/Qwen1.5-MoE-A2.7B and Qwen/Qwen2-57B-A14B config.json; ffn of a dense layer, of which they have none.
        qwen2({.name = "qwen1.5-moe-a2.7b", .layers = 24, .hidden = 2048, .heads = 16, .kv_heads = 16, .ffn = 5632,
               .experts = 60, .experts_per_token = 4, .expert_ffn = 1408, .shared_expert_ffn = 5632}),
        qwen2({.name = "qwen2-57b-a14b",    .layers = 28, .hidden = 3584, .heads = 28, .kv_heads = 4, .ffn = 18944,
               .experts = 64, .experts_per_token = 8, .expert_ffn = 2560, .shared_expert_ffn = 20480}),

        // DeepSeek-AI 2024 (DeepSeek-V2), section 3.1.2 and appendix B; deepseek-ai/DeepSeek-V2(-Lite) config.json.
        deepseek2({.name = "deepseek-v2-lite", .layers = 27, .hidden = 2048, .heads = 16,  .ffn = 10944,
                   .experts = 64,  .expert_ffn = 1408}),
        deepseek2({.name = "deepseek-v2",      .layers = 60, .hidden = 5120, .heads = 128, .ffn = 12288,
                   .q_lora_rank = 1536, .experts = 160, .router_groups = 8, .router_top_groups = 3,
                   .expert_ffn = 1536}),

        // meta-llama/Llama-4-Scout-17B-16E and -Maverick-17B-128E config.json, without the vision encoder.
        llama4({.name = "llama4-scout",    .layers = 48, .hidden = 5120, .heads = 40, .qk_norm = true, .experts = 16}),
        llama4({.name = "llama4-maverick", .layers = 48, .hidden = 5120, .heads = 40, .experts = 128,
                .moe_layer_freq = 2, .moe_layer_offset = 1}),

        // Lepikhin et al. 2020 (GShard), table 1: MoE(2048E, 36L), every other layer.
        switched({.name = "gshard-600b", .layers = 36, .hidden = 1024, .heads = 16, .ffn = 8192, .vocab = 64000,
                  .experts = 2048, .experts_per_token = 2, .moe_layer_freq = 2, .moe_layer_offset = 1}),
        // Fedus et al. 2021 (Switch Transformer), table 9: 15 layers of an encoder, 15 of a decoder, all with experts.
        switched({.name = "switch-c-1.6t", .layers = 30, .hidden = 2080, .heads = 32, .head_dim = 64, .ffn = 6144,
                  .vocab = 32128, .experts = 2048}),

        // Yang et al. 2021 (M6-T, arXiv:2105.15082), table 2; Lin et al. 2021 (M6-10T, arXiv:2110.03888), section 4.
        m6({.name = "m6-10b",  .layers = 10, .ffn = 4096,  .experts = 128}),
        m6({.name = "m6-100b", .layers = 24, .ffn = 4096,  .experts = 512}),
        m6({.name = "m6-1t",   .layers = 24, .ffn = 21248, .experts = 960}),
        m6({.name = "m6-10t",  .layers = 48, .ffn = 9984,  .experts = 10240}),
    };
}
// clang-format on

}  // namespace orrery::models
