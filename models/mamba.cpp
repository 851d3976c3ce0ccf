// Layers of one branch each: Mamba-2's mixers (Dao and Gu 2024, arXiv:2405.21060) alone, or among attention, MLPs and
// experts (Nemotron-H, arXiv:2504.03624). No positions: the scan knows the order.
#include <algorithm>
#include <stdexcept>
#include <utility>

#include "models/transformer_parts.hpp"

namespace orrery::models {

namespace {

/// In: gate, what is scanned, what writes and reads states (B and C of each group), a step of each head.
void append_mixer(std::vector<Operator>& operators, const ModelSpec& spec) {
    const MambaSpec& mamba = spec.mamba;
    operators.emplace_back(Linear{.name = "in_projection",
                                  .in = Dim::hidden,
                                  .out = Dim::mixer,
                                  .in_features = spec.hidden,
                                  .out_features = mamba.inner() + mamba.convolved() + mamba.heads,
                                  .bias = false});
    operators.emplace_back(StateMixer{mamba});
    operators.emplace_back(Linear{.name = "out_projection",
                                  .in = Dim::mixer,
                                  .out = Dim::hidden,
                                  .in_features = mamba.inner(),
                                  .out_features = spec.hidden,
                                  .bias = false});
}

/// A norm, one branch, the residual sum.
Layer layer_of(const ModelSpec& spec, char kind) {
    Layer layer{.name = "", .inputs = {Tokens{spec.hidden}}, .output = Tokens{spec.hidden}};
    auto& operators = layer.operators;
    const auto begin = [&](const char* name) {
        layer.name = std::string(name) + " layer";
        operators.emplace_back(norm(spec, std::string(name) + "_norm", true));
    };
    switch (kind) {
        case 'M': begin("mamba"), append_mixer(operators, spec); break;
        case '*': begin("attention"), append_attention(operators, spec, false); break;
        case '-': begin("mlp"), append_mlp(operators, spec); break;
        case 'E': begin("moe"), append_experts(operators, spec); break;
        default: throw std::logic_error("no such kind of layer");
    }
    operators.emplace_back(residual(spec));
    return layer;
}

/// Megatron-LM's mixer: groups of heads with a state each, a convolution over 4 tokens (d_conv), chunks of 128 tokens
/// (megatron/core/ssm/mamba_mixer.py, chunk_size; as the published config.json's), RMS norms, no biases, no dropout.
ModelSpec hybrid(ModelSpec row) {
    row.family = Family::mamba;
    row.layers = static_cast<std::uint32_t>(row.layer_pattern.size());
    row.mamba.window = 4;
    row.mamba.chunk = 128;
    row.norm = NormKind::rmsnorm;
    row.position = PositionKind::none;
    row.linear_bias = row.qkv_bias = row.tied_embeddings = false;
    row.activation = ActivationKind::squared_relu;
    return with_derived_widths(std::move(row));
}

ModelSpec nemotron(ModelSpec row) {
    row.vocab = 131072;
    if (row.head_dim == 0) row.head_dim = 128;
    if (row.kv_heads == 0) row.kv_heads = 8;
    row.mamba.groups = 8;
    return hybrid(std::move(row));
}

/// A choice of experts and one that every token takes.
ModelSpec nemotron3(ModelSpec row) {
    row.kv_heads = 2;
    row.expert_ffn = row.ffn;
    return nemotron(std::move(row));
}

/// Mixers alone, twice as wide as the residual stream, in chunks of 256 (state-spaces/mamba, mamba2.py). Attention's
/// heads and the MLP's width, of which there are none, stand for the mixer's.
ModelSpec mamba2(ModelSpec row) {
    row.layer_pattern = std::string(row.layers, 'M');
    row.vocab = 50288;
    row.heads = 2 * row.hidden / 64;
    row.mamba = {.state = 128, .heads = row.heads, .head_dim = 64, .groups = 1};
    row.head_dim = 64;
    row.ffn = 2 * row.hidden;
    row = hybrid(std::move(row));
    row.tied_embeddings = true;
    row.activation = ActivationKind::silu;
    row.mamba.chunk = 256;
    return row;
}

}  // namespace

Model build_hybrid(const ModelSpec& spec) {
    Model model{.spec = spec, .layers = {embedding(spec)}, .nodes = {{.layer = 0}}};
    std::string used;
    for (const char kind : spec.layer_pattern)
        if (used.find(kind) == std::string::npos) used += kind;
    for (const char kind : used) model.layers.push_back(layer_of(spec, kind));
    const auto append = [&](std::size_t layer) {
        const auto before = static_cast<std::uint32_t>(model.nodes.size() - 1);
        model.nodes.push_back({.layer = static_cast<std::uint32_t>(layer), .inputs = {before}});
    };
    for (const char kind : spec.layer_pattern) append(1 + used.find(kind));
    model.layers.push_back(head(spec));
    append(model.layers.size() - 1);
    return model;
}

// clang-format off
std::vector<ModelSpec> mamba_models() {
    return {
        // state-spaces/mamba2-* config.json.
        mamba2({.name = "mamba2-130m", .layers = 24, .hidden = 768}),
        mamba2({.name = "mamba2-370m", .layers = 48, .hidden = 1024}),
        mamba2({.name = "mamba2-780m", .layers = 48, .hidden = 1536}),
        mamba2({.name = "mamba2-1.3b", .layers = 48, .hidden = 2048}),
        mamba2({.name = "mamba2-2.7b", .layers = 64, .hidden = 2560}),

        // Megatron-LM, examples/post_training/modelopt/conf/nvidia, and the config.json of the same names on
        // huggingface.co/nvidia.
        nemotron({.name = "nemotron-h-4b", .hidden = 3072, .heads = 32, .ffn = 12288,
                  .layer_pattern = "M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M-",
                  .mamba = {.state = 128, .heads = 112, .head_dim = 64}}),
        nemotron({.name = "nemotron-h-8b", .hidden = 4096, .heads = 32, .ffn = 21504,
                  .layer_pattern = "M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M-",
                  .mamba = {.state = 128, .heads = 128, .head_dim = 64}}),
        nemotron({.name = "nemotron-h-47b", .hidden = 8192, .heads = 64, .ffn = 30720,
                  .layer_pattern = "M-M-M-M-M-M-M-M-M*-M-M-M-M-M-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M-M-M---MM---"
                                   "M-M*-M-M-M-M-M-",
                  .mamba = {.state = 256, .heads = 256, .head_dim = 64}}),
        nemotron({.name = "nemotron-h-56b", .hidden = 8192, .heads = 64, .ffn = 32768,
                  .layer_pattern = "M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-"
                                   "M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M-",
                  .mamba = {.state = 256, .heads = 256, .head_dim = 64}}),
        nemotron({.name = "nemotron-nano-9b-v2", .hidden = 4480, .heads = 40, .ffn = 15680,
                  .layer_pattern = "M-M-M-MM-M-M-M*-M-M-M*-M-M-M-M*-M-M-M-M*-M-MM-M-M-M-M-M-",
                  .mamba = {.state = 128, .heads = 128, .head_dim = 80}}),
        nemotron({.name = "nemotron-nano-12b-v2", .hidden = 5120, .heads = 40, .ffn = 20480,
                  .layer_pattern = "M-M-M-M*-M-M-M-M*-M-M-M-M*-M-M-M-M*-M-M-M-M*-M-M-M-M*-M-M-M-M-",
                  .mamba = {.state = 128, .heads = 128, .head_dim = 80}}),
        // The layers that predict further tokens are left out, as DeepSeek-V3's.
        nemotron3({.name = "nemotron-3-nano", .hidden = 2688, .heads = 32, .ffn = 1856,
                   .experts = 128, .experts_per_token = 6, .shared_expert_ffn = 3712,
                   .layer_pattern = "MEMEM*EMEMEM*EMEMEM*EMEMEM*EMEMEM*EMEMEMEM*EMEMEMEME",
                   .mamba = {.state = 128, .heads = 64, .head_dim = 64}}),
        nemotron3({.name = "nemotron-3-super", .hidden = 4096, .heads = 32, .ffn = 2688,
                   .experts = 512, .experts_per_token = 22, .shared_expert_ffn = 5376, .expert_latent = 1024,
                   .layer_pattern = "MEMEMEM*EMEMEMEM*EMEMEMEM*EMEMEMEMEM*EMEMEMEMEM*EMEMEMEMEM*EMEMEMEMEM*EMEMEMEM*"
                                    "EMEMEMEME",
                   .mamba = {.state = 128, .heads = 128, .head_dim = 64}}),
        nemotron3({.name = "nemotron-3-ultra", .hidden = 8192, .heads = 64, .ffn = 5120,
                   .experts = 512, .experts_per_token = 22, .shared_expert_ffn = 10240, .expert_latent = 2048,
                   .layer_pattern = "MEMEMEM*EMEMEM*EMEMEMEM*EMEMEMEM*EMEMEM*EMEMEMEM*EMEMEMEM*EMEMEM*EMEMEMEM*"
                                    "EMEMEMEM*EMEMEM*EMEMEMEM*EMEMEMEME",
                   .mamba = {.state = 128, .heads = 256, .head_dim = 64}}),
    };
}
// clang-format on

}  // namespace orrery::models
