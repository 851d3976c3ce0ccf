// Encoder-decoders: T5 (Raffel et al. 2020). Norms before the branches without biases, ReLU, position biases by
// distance, words shared by encoder, decoder and logits. T5 1.1, Flan-T5 and mT5 gate their MLP by GELU and have logits
// of their own. Megatron-LM's T5 (megatron/core/models/T5) has learned positions, one table for both stacks, LayerNorm,
// GELU, biases and a bias of the logits.
#include <utility>

#include "models/families.hpp"
#include "models/transformer_parts.hpp"

namespace orrery::models {

namespace {

Linear linear(std::string name, Dim in, Dim out, std::uint64_t in_features, std::uint64_t out_features, bool bias) {
    return {.name = std::move(name),
            .in = in,
            .out = out,
            .in_features = in_features,
            .out_features = out_features,
            .bias = bias};
}

/// Operators of both stacks.
class Stack {
public:
    Stack(const ModelSpec& spec, Sequence sequence) : spec_(spec), sequence_(sequence) {}

    [[nodiscard]] Tokens tokens() const { return {spec_.hidden, sequence_}; }

    [[nodiscard]] Layer embedding() const {
        const bool decodes = sequence_ == Sequence::decoded;
        const bool learned = spec_.position == PositionKind::learned;
        Layer layer{.name = decodes ? "decoder embedding" : "encoder embedding",
                    .operators = {Embedding{.vocab = spec_.vocab,
                                            .hidden = spec_.hidden,
                                            .positions = learned ? spec_.max_positions : 0,
                                            .dropout = spec_.dropout > 0,
                                            .shared = decodes}},
                    .part = Part::input,
                    .output = tokens()};
        if (!learned)
            layer.operators.emplace_back(RelativePositions{.buckets = spec_.relative_buckets, .heads = spec_.heads});
        return layer;
    }

    void self_attention(Layer& layer) const {
        layer.operators.emplace_back(norm(spec_, "attention_norm", true));
        layer.operators.emplace_back(linear("qkv", Dim::hidden, Dim::qkv, spec_.hidden, 3 * width(), bias()));
        attend(layer, false);
    }

    /// Queries of the decoded sequence, keys and values of the encoded one.
    void cross_attention(Layer& layer) const {
        layer.operators.emplace_back(norm(spec_, "cross_norm", true));
        layer.operators.emplace_back(linear("cross_q", Dim::hidden, Dim::attention, spec_.hidden, width(), bias()));
        Linear kv = linear("cross_kv", Dim::hidden, Dim::qkv, spec_.hidden, 2 * width(), bias());
        kv.second_input = true;
        layer.operators.emplace_back(std::move(kv));
        attend(layer, true);
    }

    void mlp(Layer& layer) const {
        layer.operators.emplace_back(norm(spec_, "mlp_norm", true));
        append_mlp(layer.operators, spec_);
        layer.operators.emplace_back(residual(spec_));
    }

private:
    [[nodiscard]] std::uint64_t width() const { return std::uint64_t{spec_.heads} * spec_.head_dim; }
    [[nodiscard]] bool bias() const { return spec_.linear_bias; }
    void attend(Layer& layer, bool cross) const {
        layer.operators.emplace_back(AttentionCore{.heads = spec_.heads,
                                                   .kv_heads = spec_.heads,
                                                   .head_dim = spec_.head_dim,
                                                   .causal = !cross && sequence_ == Sequence::decoded,
                                                   .dropout = spec_.dropout > 0,
                                                   .cross = cross});
        layer.operators.emplace_back(linear(cross ? "cross_projection" : "projection", Dim::attention, Dim::hidden,
                                            width(), spec_.hidden, bias()));
        layer.operators.emplace_back(residual(spec_));
    }

    const ModelSpec& spec_;
    Sequence sequence_;
};

/// Heads of 64 columns unless the row says otherwise; a vocabulary of 32,128 (32,000 pieces, 100 sentinels, padding).
ModelSpec t5(ModelSpec row) {
    row.family = Family::t5;
    row.decoder_layers = row.layers;
    row.relative_buckets = 32;
    row.vocab = 32128;
    if (row.head_dim == 0) row.head_dim = 64;
    row.norm = NormKind::rmsnorm;
    row.position = PositionKind::none;
    row.linear_bias = row.qkv_bias = row.causal = false;
    row.activation = ActivationKind::relu;
    row.dropout = 0.1;
    return with_derived_widths(std::move(row));
}

/// google-research/text-to-text-transfer-transformer, released_checkpoints.md: T5 1.1; Flan-T5 is trained from it.
ModelSpec t5_1_1(ModelSpec row) {
    row = t5(std::move(row));
    row.gated = true;
    row.activation = ActivationKind::gelu;
    row.tied_embeddings = false;
    return row;
}

}  // namespace

/// Both embeddings, the encoder, its last norm, the decoder, whose layers take that norm's output too, and the logits.
Model build_t5(const ModelSpec& spec) {
    const Stack encoder(spec, Sequence::only), decoder(spec, Sequence::decoded);
    const Tokens in = encoder.tokens(), out = decoder.tokens();
    Layer encoding{.name = "encoder block", .inputs = {in}, .output = in};
    encoder.self_attention(encoding);
    encoder.mlp(encoding);
    Layer decoding{.name = "decoder block", .inputs = {out, in}, .output = out};
    decoder.self_attention(decoding);
    decoder.cross_attention(decoding);
    decoder.mlp(decoding);
    Linear logits = linear("logits", Dim::hidden, Dim::vocab, spec.hidden, spec.vocab, spec.logits_bias);
    logits.shares_embedding = spec.tied_embeddings;
    Model model{
        .spec = spec,
        .layers = {encoder.embedding(),
                   decoder.embedding(),
                   std::move(encoding),
                   {.name = "encoder norm", .operators = {norm(spec, "encoder_norm")}, .inputs = {in}, .output = in},
                   std::move(decoding),
                   {.name = "head",
                    .operators = {norm(spec, "final_norm"), logits, Loss{.vocab = spec.vocab}},
                    .part = Part::output,
                    .inputs = {out},
                    .output = Tokens{1, Sequence::decoded}}},
        .nodes = {{.layer = 0}, {.layer = 1}}};
    const auto append = [&](std::uint32_t layer, std::vector<std::uint32_t> inputs) {
        model.nodes.push_back({.layer = layer, .inputs = std::move(inputs)});
        return static_cast<std::uint32_t>(model.nodes.size() - 1);
    };
    std::uint32_t encoded = 0, decoded = 1;
    for (std::uint32_t i = 0; i < spec.layers; ++i) encoded = append(2, {encoded});
    encoded = append(3, {encoded});
    for (std::uint32_t i = 0; i < spec.decoder_layers; ++i) decoded = append(4, {decoded, encoded});
    append(5, {decoded});
    return model;
}

// clang-format off
std::vector<ModelSpec> t5_models() {
    return {
        // Raffel et al. 2020, section 3.7; google-t5/t5-* config.json.
        t5({.name = "t5-small", .layers = 6,  .hidden = 512,  .heads = 8,   .ffn = 2048}),
        t5({.name = "t5-base",  .layers = 12, .hidden = 768,  .heads = 12,  .ffn = 3072}),
        t5({.name = "t5-large", .layers = 24, .hidden = 1024, .heads = 16,  .ffn = 4096}),
        t5({.name = "t5-3b",    .layers = 24, .hidden = 1024, .heads = 32,  .head_dim = 128, .ffn = 16384}),
        t5({.name = "t5-11b",   .layers = 24, .hidden = 1024, .heads = 128, .head_dim = 128, .ffn = 65536}),
        // google/t5-v1_1-* and google/flan-t5-* config.json.
        t5_1_1({.name = "t5-v1.1-small", .layers = 8,  .hidden = 512,  .heads = 6,  .ffn = 1024}),
        t5_1_1({.name = "t5-v1.1-base",  .layers = 12, .hidden = 768,  .heads = 12, .ffn = 2048}),
        t5_1_1({.name = "t5-v1.1-large", .layers = 24, .hidden = 1024, .heads = 16, .ffn = 2816}),
        t5_1_1({.name = "t5-v1.1-xl",    .layers = 24, .hidden = 2048, .heads = 32, .ffn = 5120}),
        t5_1_1({.name = "t5-v1.1-xxl",   .layers = 24, .hidden = 4096, .heads = 64, .ffn = 10240}),
    };
}
// clang-format on

}  // namespace orrery::models
