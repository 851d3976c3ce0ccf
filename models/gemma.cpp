// Decoders with RMSNorm and a gated MLP whose layers differ from Llama's: Phi-3, OLMo 2, Gemma.
#include <utility>

#include "models/families.hpp"

namespace orrery::models {

namespace {

ModelSpec phi3(ModelSpec row) {
    row.vocab = 32064;
    return with_llama_structure(std::move(row));
}

/// Norms behind the branches alone, and over whole queries and keys (arXiv:2501.00656, section 3.2).
ModelSpec olmo2(ModelSpec row) {
    row.vocab = 100352;
    row.input_norm = false;
    row.output_norm = row.qk_norm = row.qk_norm_whole = true;
    return with_llama_structure(std::move(row));
}

/// Heads of 256 columns unless the row says otherwise; GEGLU, tied logits.
ModelSpec gemma(ModelSpec row) {
    if (row.vocab == 0) row.vocab = 256000;
    if (row.head_dim == 0) row.head_dim = 256;
    row = with_llama_structure(std::move(row));
    row.tied_embeddings = true;
    row.activation = ActivationKind::gelu;
    return row;
}

/// Norms on both sides of a branch, and a window of 4,096 tokens in every other layer.
ModelSpec gemma2(ModelSpec row) {
    row.output_norm = true;
    row.attention_window = 4096;
    row.window_pattern = 2;
    return gemma(std::move(row));
}

/// Norms of queries and keys, and windows in five of six layers. 262,144 words and, beside images, 64 more.
ModelSpec gemma3(ModelSpec row) {
    if (row.vocab == 0) row.vocab = 262208;
    if (row.attention_window == 0) row.attention_window = 1024;
    row.output_norm = row.qk_norm = true;
    row.window_pattern = 6;
    return gemma(std::move(row));
}

}  // namespace

// clang-format off
std::vector<ModelSpec> gemma_models() {
    return {
        // Abdin et al. 2024 (Phi-3), section 2; microsoft/Phi-3-mini-4k-instruct and -medium-4k-instruct config.json.
        phi3({.name = "phi-3-mini",   .layers = 32, .hidden = 3072, .heads = 32, .ffn = 8192,
              .attention_window = 2047}),
        phi3({.name = "phi-3-medium", .layers = 40, .hidden = 5120, .heads = 40, .kv_heads = 10, .ffn = 17920,
              .attention_window = 2047}),

        // OLMo et al. 2024 (2 OLMo 2 Furious), table 3; allenai/OLMo-2-* config.json.
        olmo2({.name = "olmo2-7b",  .layers = 32, .hidden = 4096, .heads = 32,                .ffn = 11008}),
        olmo2({.name = "olmo2-13b", .layers = 40, .hidden = 5120, .heads = 40,                .ffn = 13824}),
        olmo2({.name = "olmo2-32b", .layers = 64, .hidden = 5120, .heads = 40, .kv_heads = 8, .ffn = 27648}),

        // Gemma Team 2024 (arXiv:2403.08295), table 1; google/gemma-* config.json.
        gemma({.name = "gemma-2b", .layers = 18, .hidden = 2048, .heads = 8,  .kv_heads = 1,  .ffn = 16384}),
        gemma({.name = "gemma-7b", .layers = 28, .hidden = 3072, .heads = 16, .kv_heads = 16, .ffn = 24576}),

        // Gemma Team 2024 (arXiv:2408.00118), table 1; google/gemma-2-* config.json.
        gemma2({.name = "gemma2-2b",  .layers = 26, .hidden = 2304, .heads = 8,  .kv_heads = 4,  .ffn = 9216}),
        gemma2({.name = "gemma2-9b",  .layers = 42, .hidden = 3584, .heads = 16, .kv_heads = 8,  .ffn = 14336}),
        gemma2({.name = "gemma2-27b", .layers = 46, .hidden = 4608, .heads = 32, .kv_heads = 16, .head_dim = 128,
                .ffn = 36864}),

        // Gemma Team 2025 (arXiv:2503.19786), table 1; google/gemma-3-* config.json, without the vision encoder.
        gemma3({.name = "gemma3-1b",  .layers = 26, .hidden = 1152, .heads = 4,  .kv_heads = 1,  .ffn = 6912,
                .vocab = 262144, .attention_window = 512}),
        gemma3({.name = "gemma3-4b",  .layers = 34, .hidden = 2560, .heads = 8,  .kv_heads = 4,  .ffn = 10240}),
        gemma3({.name = "gemma3-12b", .layers = 48, .hidden = 3840, .heads = 16, .kv_heads = 8,  .ffn = 15360}),
        gemma3({.name = "gemma3-27b", .layers = 62, .hidden = 5376, .heads = 32, .kv_heads = 16, .head_dim = 128,
                .ffn = 21504}),
    };
}
// clang-format on

}  // namespace orrery::models
