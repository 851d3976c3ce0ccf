// Decoders with LayerNorm and GELU: GPT-2, GPT-3, Megatron-LM's GPTs, PanGu-alpha, GPT-NeoX, BLOOM, MPT.
#include <utility>

#include "models/families.hpp"

namespace orrery::models {

namespace {

/// GPT-2's structure: learned positions, biases everywhere, tied logits. Dropout 0.1 is the default of both
/// GPT-2's config.json (resid_pdrop, embd_pdrop, attn_pdrop) and Megatron-LM (--hidden-dropout, --attention-dropout).
ModelSpec gpt(ModelSpec row) {
    row.family = Family::gpt;
    row.dropout = 0.1;
    return with_derived_widths(std::move(row));
}

/// Two norms, one residual sum, rotary positions, untied logits, no dropout.
ModelSpec neox(ModelSpec row) {
    row.parallel_residual = true;
    row.position = PositionKind::rope;
    row.tied_embeddings = false;
    return with_derived_widths(std::move(row));
}

/// ALiBi positions, a norm behind the embedding, biases.
ModelSpec bloom(ModelSpec row) {
    row.position = PositionKind::alibi;
    row.embedding_norm = true;
    return with_derived_widths(std::move(row));
}

/// ALiBi positions, no biases in the linear layers. MPT's norms (low_precision_layernorm, no_bias) keep a weight only,
/// which is what rmsnorm counts and moves.
ModelSpec mpt(ModelSpec row) {
    row.position = PositionKind::alibi;
    row.linear_bias = row.qkv_bias = false;
    row.norm = NormKind::rmsnorm;
    return with_derived_widths(std::move(row));
}

}  // namespace

// clang-format off
std::vector<ModelSpec> gpt_models() {
    return {
        // Radford et al. 2019, table 2; sizes, heads and vocabulary of the released checkpoints' config.json.
        gpt({.name = "gpt2",        .layers = 12, .hidden = 768,  .heads = 12, .vocab = 50257, .max_positions = 1024}),
        gpt({.name = "gpt2-medium", .layers = 24, .hidden = 1024, .heads = 16, .vocab = 50257, .max_positions = 1024}),
        gpt({.name = "gpt2-large",  .layers = 36, .hidden = 1280, .heads = 20, .vocab = 50257, .max_positions = 1024}),
        gpt({.name = "gpt2-xl",     .layers = 48, .hidden = 1600, .heads = 25, .vocab = 50257, .max_positions = 1024}),

        // Brown et al. 2020, table 2.1; attention taken as dense. Two rows of that table contradict themselves
        // (1.3B: 24 heads of 128 in 2048; 13B: width 5140): here 16 heads and 5120, as 128 per head implies.
        gpt({.name = "gpt3-125m", .layers = 12, .hidden = 768,   .heads = 12, .vocab = 50257, .max_positions = 2048}),
        gpt({.name = "gpt3-350m", .layers = 24, .hidden = 1024,  .heads = 16, .vocab = 50257, .max_positions = 2048}),
        gpt({.name = "gpt3-760m", .layers = 24, .hidden = 1536,  .heads = 16, .vocab = 50257, .max_positions = 2048}),
        gpt({.name = "gpt3-1.3b", .layers = 24, .hidden = 2048,  .heads = 16, .vocab = 50257, .max_positions = 2048}),
        gpt({.name = "gpt3-2.7b", .layers = 32, .hidden = 2560,  .heads = 32, .vocab = 50257, .max_positions = 2048}),
        gpt({.name = "gpt3-6.7b", .layers = 32, .hidden = 4096,  .heads = 32, .vocab = 50257, .max_positions = 2048}),
        gpt({.name = "gpt3-13b",  .layers = 40, .hidden = 5120,  .heads = 40, .vocab = 50257, .max_positions = 2048}),
        gpt({.name = "gpt3-175b", .layers = 96, .hidden = 12288, .heads = 96, .vocab = 50257, .max_positions = 2048}),

        // NVIDIA NeMo framework launcher, conf/training/gpt3/5b.yaml and 20b.yaml.
        gpt({.name = "gpt3-5b",  .layers = 24, .hidden = 4096, .heads = 32, .vocab = 50257, .max_positions = 2048}),
        gpt({.name = "gpt3-20b", .layers = 44, .hidden = 6144, .heads = 48, .vocab = 50257, .max_positions = 2048}),

        // Narayanan et al. 2021 (SC'21), table 1; vocabulary 51200 as in its section 5.1.
        gpt({.name = "gpt-1.7b", .layers = 24,  .hidden = 2304,  .heads = 24,  .vocab = 51200, .max_positions = 2048}),
        gpt({.name = "gpt-3.6b", .layers = 30,  .hidden = 3072,  .heads = 32,  .vocab = 51200, .max_positions = 2048}),
        gpt({.name = "gpt-7.5b", .layers = 36,  .hidden = 4096,  .heads = 32,  .vocab = 51200, .max_positions = 2048}),
        gpt({.name = "gpt-18b",  .layers = 40,  .hidden = 6144,  .heads = 48,  .vocab = 51200, .max_positions = 2048}),
        gpt({.name = "gpt-39b",  .layers = 48,  .hidden = 8192,  .heads = 64,  .vocab = 51200, .max_positions = 2048}),
        gpt({.name = "gpt-76b",  .layers = 60,  .hidden = 10240, .heads = 80,  .vocab = 51200, .max_positions = 2048}),
        gpt({.name = "gpt-145b", .layers = 80,  .hidden = 12288, .heads = 96,  .vocab = 51200, .max_positions = 2048}),
        gpt({.name = "gpt-310b", .layers = 96,  .hidden = 16384, .heads = 128, .vocab = 51200, .max_positions = 2048}),
        gpt({.name = "gpt-530b", .layers = 105, .hidden = 20480, .heads = 128, .vocab = 51200, .max_positions = 2048}),
        gpt({.name = "gpt-1t",   .layers = 128, .hidden = 25600, .heads = 160, .vocab = 51200, .max_positions = 2048}),

        // Korthikanti et al. 2022 (activation recomputation), table 3; its other rows stand above.
        gpt({.name = "gpt-22b", .layers = 48, .hidden = 6144, .heads = 64, .vocab = 51200, .max_positions = 2048}),

        // Smith et al. 2022 (MT-NLG), section 2.1: the sizes of gpt-530b, GPT-2's tokenizer.
        gpt({.name = "mt-nlg-530b", .layers = 105, .hidden = 20480, .heads = 128, .vocab = 50257,
             .max_positions = 2048}),

        // Zeng et al. 2021 (PanGu-alpha), table 1 and section 3.2: the last layer attends with a query of its own, a
        // table of positions' embeddings, which costs what the others do.
        gpt({.name = "pangu-alpha-2.6b", .layers = 32, .hidden = 2560,  .heads = 32,  .vocab = 40000,
             .max_positions = 1024}),
        gpt({.name = "pangu-alpha-13b",  .layers = 40, .hidden = 5120,  .heads = 40,  .vocab = 40000,
             .max_positions = 1024}),
        gpt({.name = "pangu-alpha-200b", .layers = 64, .hidden = 16384, .heads = 128, .vocab = 40000,
             .max_positions = 1024}),

        // Black et al. 2022, section 2; EleutherAI/gpt-neox-20b config.json (its vocabulary is padded already).
        neox({.name = "gpt-neox-20b", .layers = 44, .hidden = 6144, .heads = 64, .vocab = 50432}),

        // Le Scao et al. 2022, table 3; bigscience/bloom config.json.
        bloom({.name = "bloom-176b", .layers = 70, .hidden = 14336, .heads = 112, .vocab = 250880}),

        // mosaicml/mpt-7b and mpt-30b config.json.
        mpt({.name = "mpt-7b",  .layers = 32, .hidden = 4096, .heads = 32, .vocab = 50432}),
        mpt({.name = "mpt-30b", .layers = 48, .hidden = 7168, .heads = 64, .vocab = 50432}),
    };
}
// clang-format on

}  // namespace orrery::models
