// Decoders with LayerNorm whose layers differ from GPT's: OPT, GPT-J, Falcon, GLM.
#include <utility>

#include "models/families.hpp"

namespace orrery::models {

namespace {

/// GPT-3's sizes with ReLU (Zhang et al. 2022, section 2.1). The table of positions has two rows more than positions;
/// config.json's attention_dropout is 0.
ModelSpec opt(ModelSpec row) {
    row.vocab = 50272;
    row.max_positions = 2050;
    row.activation = ActivationKind::relu;
    row.hidden_dropout_alone = true;
    row.dropout = 0.1;
    return with_derived_widths(std::move(row));
}

/// One norm for attention and MLP, rotary positions, biases in the MLP and in the untied logits alone.
ModelSpec gptj(ModelSpec row) {
    row.position = PositionKind::rope;
    row.parallel_residual = row.shared_norm = row.bare_projection = row.logits_bias = true;
    row.qkv_bias = row.tied_embeddings = false;
    return with_derived_widths(std::move(row));
}

/// Attention beside the MLP, rotary positions, no biases, tied logits.
ModelSpec falcon(ModelSpec row) {
    row.vocab = 65024;
    row.position = PositionKind::rope;
    row.parallel_residual = true;
    row.linear_bias = row.qkv_bias = false;
    return with_derived_widths(std::move(row));
}

/// GEGLU, norms behind the residual additions (DeepNorm), rotary positions, tied logits, a context that sees itself
/// both ways (Zeng et al. 2022, section 2.1).
ModelSpec glm(ModelSpec row) {
    row.gated = row.post_norm = true;
    row.causal = false;
    row.position = PositionKind::rope;
    row.dropout = 0.1;
    return with_derived_widths(std::move(row));
}

}  // namespace

// clang-format off
std::vector<ModelSpec> opt_models() {
    return {
        // Zhang et al. 2022 (OPT), table 1; facebook/opt-* config.json. OPT 350M has words of another width.
        opt({.name = "opt-125m", .layers = 12, .hidden = 768,   .heads = 12}),
        opt({.name = "opt-1.3b", .layers = 24, .hidden = 2048,  .heads = 32}),
        opt({.name = "opt-2.7b", .layers = 32, .hidden = 2560,  .heads = 32}),
        opt({.name = "opt-6.7b", .layers = 32, .hidden = 4096,  .heads = 32}),
        opt({.name = "opt-13b",  .layers = 40, .hidden = 5120,  .heads = 40}),
        opt({.name = "opt-30b",  .layers = 48, .hidden = 7168,  .heads = 56}),
        opt({.name = "opt-66b",  .layers = 64, .hidden = 9216,  .heads = 72}),
        opt({.name = "opt-175b", .layers = 96, .hidden = 12288, .heads = 96}),

        // EleutherAI/gpt-j-6b config.json.
        gptj({.name = "gpt-j-6b", .layers = 28, .hidden = 4096, .heads = 16, .vocab = 50400}),

        // Almazrouei et al. 2023 (Falcon), table 16; tiiuae/falcon-* config.json.
        falcon({.name = "falcon-7b",   .layers = 32, .hidden = 4544,  .heads = 71,  .kv_heads = 1,
                .shared_norm = true}),
        falcon({.name = "falcon-40b",  .layers = 60, .hidden = 8192,  .heads = 128, .kv_heads = 8}),
        falcon({.name = "falcon-180b", .layers = 80, .hidden = 14848, .heads = 232, .kv_heads = 8}),

        // Zeng et al. 2022 (GLM-130B), table 11.
        glm({.name = "glm-130b", .layers = 70, .hidden = 12288, .heads = 96, .ffn = 32768, .vocab = 150528}),
    };
}
// clang-format on

}  // namespace orrery::models
