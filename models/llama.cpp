// Decoders with RMSNorm, rotary positions and SwiGLU: Llama, Mistral, Qwen.
#include <utility>

#include "models/families.hpp"

namespace orrery::models {

ModelSpec with_llama_structure(ModelSpec spec) {
    spec.family = Family::llama;
    spec.gated = true;
    spec.activation = ActivationKind::silu;
    spec.tied_embeddings = spec.linear_bias = spec.qkv_bias = false;
    spec.norm = NormKind::rmsnorm;
    spec.position = PositionKind::rope;
    return with_derived_widths(std::move(spec));
}

namespace {

/// vocab: 32000, the tokenizer of Llama 1, Llama 2 and Mistral, unless the row states another.
ModelSpec llama(ModelSpec row) {
    if (row.vocab == 0) row.vocab = 32000;
    return with_llama_structure(std::move(row));
}

/// Every Llama 3 shares eight key-value heads between its heads.
ModelSpec llama3(ModelSpec row) {
    row.vocab = 128256;
    row.kv_heads = 8;
    return llama(std::move(row));
}

ModelSpec tied(ModelSpec row) {
    row.tied_embeddings = true;
    return row;
}

ModelSpec mistral(ModelSpec row) {
    row.attention_window = 4096;
    return llama(std::move(row));
}

/// vocab: 152064 rows, or the 151936 of the models up to 3B, whose logits are tied.
ModelSpec qwen2(ModelSpec row) {
    row.vocab = 152064;
    row = llama(std::move(row));
    row.qkv_bias = true;
    return row;
}

/// The first Qwen, whose every size has logits of its own.
ModelSpec qwen(ModelSpec row) {
    if (row.vocab == 0) row.vocab = 151936;
    row = llama(std::move(row));
    row.qkv_bias = true;
    return row;
}

ModelSpec qwen2_small(ModelSpec row) {
    row = tied(qwen2(std::move(row)));
    row.vocab = 151936;
    return row;
}

ModelSpec qwen3(ModelSpec row) {
    row.vocab = 151936;
    row.head_dim = 128;
    row.qk_norm = true;
    return llama(std::move(row));
}

}  // namespace

// clang-format off
std::vector<ModelSpec> llama_models() {
    return {
        // Touvron et al. 2023 (LLaMA), table 2; ffn of the checkpoints.
        llama({.name = "llama-7b",  .layers = 32, .hidden = 4096, .heads = 32, .ffn = 11008}),
        llama({.name = "llama-13b", .layers = 40, .hidden = 5120, .heads = 40, .ffn = 13824}),
        llama({.name = "llama-33b", .layers = 60, .hidden = 6656, .heads = 52, .ffn = 17920}),
        llama({.name = "llama-65b", .layers = 80, .hidden = 8192, .heads = 64, .ffn = 22016}),

        // meta-llama/Llama-2-*-hf config.json.
        llama({.name = "llama2-7b",  .layers = 32, .hidden = 4096, .heads = 32,                .ffn = 11008}),
        llama({.name = "llama2-13b", .layers = 40, .hidden = 5120, .heads = 40,                .ffn = 13824}),
        llama({.name = "llama2-70b", .layers = 80, .hidden = 8192, .heads = 64, .kv_heads = 8, .ffn = 28672}),

        // TinyLlama/TinyLlama_v1.1 config.json.
        llama({.name = "tinyllama-1.1b", .layers = 22, .hidden = 2048, .heads = 32, .kv_heads = 4, .ffn = 5632}),

        // Dubey et al. 2024 (Llama 3), table 3; meta-llama/Meta-Llama-3-*, Llama-3.1-* and Llama-3.2-* config.json.
        llama3({.name = "llama3-8b",     .layers = 32,  .hidden = 4096,  .heads = 32,  .ffn = 14336}),
        llama3({.name = "llama3-70b",    .layers = 80,  .hidden = 8192,  .heads = 64,  .ffn = 28672}),
        llama3({.name = "llama3.1-8b",   .layers = 32,  .hidden = 4096,  .heads = 32,  .ffn = 14336}),
        llama3({.name = "llama3.1-70b",  .layers = 80,  .hidden = 8192,  .heads = 64,  .ffn = 28672}),
        llama3({.name = "llama3.1-405b", .layers = 126, .hidden = 16384, .heads = 128, .ffn = 53248}),
        tied(llama3({.name = "llama3.2-1b",   .layers = 16,  .hidden = 2048,  .heads = 32,  .ffn = 8192})),
        tied(llama3({.name = "llama3.2-3b",   .layers = 28,  .hidden = 3072,  .heads = 24,  .ffn = 8192})),

        // Jiang et al. 2023 (Mistral 7B), table 1; mistralai/Mistral-7B-v0.1 config.json.
        mistral({.name = "mistral-7b", .layers = 32, .hidden = 4096, .heads = 32, .kv_heads = 8, .ffn = 14336}),

        // Bai et al. 2023 (Qwen), table 1; Qwen/Qwen-* config.json, whose intermediate_size counts both halves.
        qwen({.name = "qwen-1.8b", .layers = 24, .hidden = 2048, .heads = 16, .ffn = 5504}),
        qwen({.name = "qwen-7b",   .layers = 32, .hidden = 4096, .heads = 32, .ffn = 11008}),
        qwen({.name = "qwen-14b",  .layers = 40, .hidden = 5120, .heads = 40, .ffn = 13696, .vocab = 152064}),
        qwen({.name = "qwen-72b",  .layers = 80, .hidden = 8192, .heads = 64, .ffn = 24576, .vocab = 152064}),

        // Yang et al. 2024 (Qwen2), table 1; Qwen/Qwen2-* and Qwen/Qwen2.5-* config.json.
        qwen2_small({.name = "qwen2-0.5b",  .layers = 24, .hidden = 896,  .heads = 14, .kv_heads = 2, .ffn = 4864}),
        qwen2_small({.name = "qwen2-1.5b",  .layers = 28, .hidden = 1536, .heads = 12, .kv_heads = 2, .ffn = 8960}),
        qwen2({.name = "qwen2-7b",    .layers = 28, .hidden = 3584, .heads = 28, .kv_heads = 4, .ffn = 18944}),
        qwen2({.name = "qwen2-72b",   .layers = 80, .hidden = 8192, .heads = 64, .kv_heads = 8, .ffn = 29568}),
        qwen2({.name = "qwen2.5-7b",  .layers = 28, .hidden = 3584, .heads = 28, .kv_heads = 4, .ffn = 18944}),
        qwen2({.name = "qwen2.5-14b", .layers = 48, .hidden = 5120, .heads = 40, .kv_heads = 8, .ffn = 13824}),
        qwen2({.name = "qwen2.5-32b", .layers = 64, .hidden = 5120, .heads = 40, .kv_heads = 8, .ffn = 27648}),
        qwen2({.name = "qwen2.5-72b", .layers = 80, .hidden = 8192, .heads = 64, .kv_heads = 8, .ffn = 29568}),

        // Yang et al. 2025 (Qwen3), table 1; Qwen/Qwen3-* config.json.
        tied(qwen3({.name = "qwen3-0.6b", .layers = 28, .hidden = 1024, .heads = 16, .kv_heads = 8, .ffn = 3072})),
        tied(qwen3({.name = "qwen3-1.7b", .layers = 28, .hidden = 2048, .heads = 16, .kv_heads = 8, .ffn = 6144})),
        tied(qwen3({.name = "qwen3-4b",   .layers = 36, .hidden = 2560, .heads = 32, .kv_heads = 8, .ffn = 9728})),
        qwen3({.name = "qwen3-8b",   .layers = 36, .hidden = 4096, .heads = 32, .kv_heads = 8, .ffn = 12288}),
        qwen3({.name = "qwen3-14b",  .layers = 40, .hidden = 5120, .heads = 40, .kv_heads = 8, .ffn = 17408}),
        qwen3({.name = "qwen3-32b",  .layers = 64, .hidden = 5120, .heads = 64, .kv_heads = 8, .ffn = 25600}),
    };
}
// clang-format on

}  // namespace orrery::models
