#include "models/transformer_parts.hpp"

#include <utility>

namespace orrery::models {

namespace {

Linear qkv(const ModelSpec& spec) {
    const std::uint64_t heads = std::uint64_t{spec.heads} + 2ull * spec.kv_heads;
    return {.name = "qkv",
            .in = Dim::hidden,
            .out = Dim::qkv,
            .in_features = spec.hidden,
            .out_features = heads * spec.head_dim,
            .bias = spec.qkv_bias};
}

Linear projection(const ModelSpec& spec) {
    return {.name = "projection",
            .in = Dim::attention,
            .out = Dim::hidden,
            .in_features = std::uint64_t{spec.heads} * spec.value_dim(),
            .out_features = spec.hidden,
            .bias = spec.linear_bias && !spec.bare_projection};
}

Linear up(const ModelSpec& spec) {
    return {.name = "up",
            .in = Dim::hidden,
            .out = Dim::ffn,
            .in_features = spec.hidden,
            .out_features = (spec.gated ? 2ull : 1ull) * spec.ffn,
            .bias = spec.linear_bias,
            .shares_input = spec.shared_norm};
}

Linear down(const ModelSpec& spec) {
    return {.name = "down",
            .in = Dim::ffn,
            .out = Dim::hidden,
            .in_features = spec.ffn,
            .out_features = spec.hidden,
            .bias = spec.linear_bias};
}

/// DeepSeek-V2 (arXiv:2405.04434, section 2.1 and appendix C), as Megatron-LM trains it (multi_latent_attention.py):
/// what keys and values are made of, with the keys' part that is rotated, and what queries are; a norm over each;
/// products to heads. The rotation puts whole queries and keys together.
void append_latent_projections(std::vector<Operator>& operators, const ModelSpec& spec) {
    const std::uint64_t heads = spec.heads, plain = spec.head_dim - spec.rope_head_dim;
    const auto linear = [&](const char* name, Dim in, Dim out, std::uint64_t inputs, std::uint64_t outputs) {
        operators.emplace_back(
            Linear{.name = name, .in = in, .out = out, .in_features = inputs, .out_features = outputs, .bias = false});
    };
    const std::uint64_t latent = std::uint64_t{spec.q_lora_rank} + spec.kv_lora_rank;
    if (spec.q_lora_rank == 0) linear("queries", Dim::hidden, Dim::qkv, spec.hidden, heads * spec.head_dim);
    linear("latent", Dim::hidden, Dim::latent, spec.hidden, latent + spec.rope_head_dim);
    operators.emplace_back(Norm{.name = "latent_norm", .kind = spec.norm, .width = latent});
    if (spec.q_lora_rank > 0) linear("queries", Dim::latent, Dim::qkv, spec.q_lora_rank, heads * spec.head_dim);
    linear("keys_values", Dim::latent, Dim::qkv, spec.kv_lora_rank, heads * (plain + spec.v_head_dim));
    operators.emplace_back(Rope{.heads = 2 * heads, .head_dim = spec.head_dim});
}

}  // namespace

Norm norm(const ModelSpec& spec, std::string name, bool begins_branch) {
    return {.name = std::move(name), .kind = spec.norm, .width = spec.hidden, .begins_branch = begins_branch};
}

ResidualAdd residual(const ModelSpec& spec) {
    return {.width = spec.hidden, .bias = spec.linear_bias, .dropout = spec.dropout > 0.0};
}

void append_attention(std::vector<Operator>& operators, const ModelSpec& spec, bool window) {
    if (spec.kv_lora_rank > 0) {
        append_latent_projections(operators, spec);
    } else {
        operators.emplace_back(qkv(spec));
        if (spec.position == PositionKind::rope)
            operators.emplace_back(Rope{.heads = std::uint64_t{spec.heads} + spec.kv_heads,
                                        .head_dim = spec.head_dim,
                                        .norm = spec.qk_norm,
                                        .norm_whole = spec.qk_norm_whole});
    }
    operators.emplace_back(AttentionCore{.heads = spec.heads,
                                         .kv_heads = spec.kv_heads,
                                         .head_dim = spec.head_dim,
                                         .value_dim = spec.v_head_dim,
                                         .window = window ? spec.attention_window : 0,
                                         .causal = spec.causal,
                                         .dropout = spec.dropout > 0.0 && !spec.hidden_dropout_alone});
    operators.emplace_back(projection(spec));
}

void append_mlp(std::vector<Operator>& operators, const ModelSpec& spec) {
    operators.emplace_back(up(spec));
    operators.emplace_back(Activation{.gated = spec.gated, .width = spec.ffn, .kind = spec.activation});
    operators.emplace_back(down(spec));
}

/// Megatron-LM's MoELayer: the shared expert is an ordinary MLP, the router has no bias.
void append_experts(std::vector<Operator>& operators, const ModelSpec& spec) {
    if (spec.shared_expert_ffn > 0) {
        ModelSpec shared = spec;
        shared.ffn = spec.shared_expert_ffn;
        append_mlp(operators, shared);
    }
    operators.emplace_back(Experts{.experts = spec.experts,
                                   .top_k = spec.experts_per_token,
                                   .hidden = spec.hidden,
                                   .groups = spec.routing().groups,
                                   .top_groups = spec.routing().top_groups,
                                   .ffn = spec.expert_ffn,
                                   .gated = spec.gated,
                                   .bias = spec.linear_bias,
                                   .adds_shared = spec.shared_expert_ffn > 0,
                                   .gates_shared = spec.shared_expert_gate,
                                   .activation = spec.activation,
                                   .latent = spec.expert_latent});
}

Layer pre_norm_block(const ModelSpec& spec, std::string name, Sequence sequence) {
    const Tokens tokens{spec.hidden, sequence};
    Layer layer{.name = std::move(name), .inputs = {tokens}, .output = tokens};
    auto& operators = layer.operators;
    operators.emplace_back(norm(spec, "attention_norm", true));
    append_attention(operators, spec, false);
    operators.emplace_back(residual(spec));
    operators.emplace_back(norm(spec, "mlp_norm", true));
    append_mlp(operators, spec);
    operators.emplace_back(residual(spec));
    return layer;
}

Layer embedding(const ModelSpec& spec) {
    const bool learned = spec.position == PositionKind::learned;
    Layer layer{.name = "embedding", .part = Part::input, .output = Tokens{spec.hidden}};
    layer.operators.emplace_back(Embedding{.vocab = spec.vocab,
                                           .hidden = spec.hidden,
                                           .positions = learned ? spec.max_positions : 0,
                                           .token_types = spec.token_types,
                                           .dropout = spec.dropout > 0.0});
    if (spec.embedding_norm) layer.operators.emplace_back(norm(spec, "embedding_norm"));
    return layer;
}

Layer head(const ModelSpec& spec) {
    Layer layer{.name = "head", .part = Part::output, .inputs = {Tokens{spec.hidden}}, .output = Tokens{1}};
    auto& operators = layer.operators;
    if (!spec.post_norm) operators.emplace_back(norm(spec, "final_norm"));
    if (spec.mlm_head) {
        operators.emplace_back(
            Linear{.name = "mlm_dense", .in_features = spec.hidden, .out_features = spec.hidden, .bias = true});
        operators.emplace_back(Activation{.gated = false, .width = spec.hidden});
        operators.emplace_back(norm(spec, "mlm_norm"));
    }
    operators.emplace_back(Linear{.name = "logits",
                                  .in = Dim::hidden,
                                  .out = Dim::vocab,
                                  .in_features = spec.hidden,
                                  .out_features = spec.vocab,
                                  .bias = spec.mlm_head || spec.logits_bias,
                                  .shares_embedding = spec.tied_embeddings});
    operators.emplace_back(Loss{.vocab = spec.vocab});
    return layer;
}

}  // namespace orrery::models
