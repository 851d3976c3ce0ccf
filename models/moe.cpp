// Decoders with a mixture of experts: Mixtral, Qwen3-MoE, and GPT with experts in every other layer.
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

        // Rajbhandari et al. 2022 (DeepSpeed-MoE), table 1: 13B and 52B parameters.
        gpt({.name = "gpt-350m-moe-128", .layers = 24, .hidden = 1024, .heads = 16, .experts = 128}),
        gpt({.name = "gpt-1.3b-moe-128", .layers = 24, .hidden = 2048, .heads = 16, .experts = 128}),
    };
}
// clang-format on

}  // namespace orrery::models
