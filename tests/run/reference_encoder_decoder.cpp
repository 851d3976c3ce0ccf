// T5 (Raffel et al. 2020) in double precision: two stacks, of which the second attends to what the first leaves.
#include <cmath>

#include "run/tokens.hpp"
#include "tests/run/reference_parts.hpp"

namespace orrery::run {

namespace {

class EncoderDecoder : public ReferenceModel {
public:
    EncoderDecoder(const strategies::Plan& plan, const RunSettings& settings);
    M loss(Tape& tape, std::uint32_t step, std::uint32_t sample) override;

private:
    struct Attended {
        M q, k, v;
    };
    /// Of encoder and decoder the layers are numbered in one row, with the norm between them.
    [[nodiscard]] std::string layer(std::uint32_t number) const { return "layer." + std::to_string(number) + "."; }
    [[nodiscard]] std::string encoder_norm() const { return layer(spec_.layers) + "encoder_norm"; }
    [[nodiscard]] bool learned() const { return spec_.position == models::PositionKind::learned; }
    [[nodiscard]] std::size_t width() const { return std::size_t{spec_.heads} * spec_.head_dim; }
    void branch(const std::string& at, const char* norm_name, const char* projection) {
        norm(at + norm_name, spec_.hidden);
        linear(at + projection, spec_.hidden, width(), spec_.linear_bias);
    }
    void layer_parameters(const std::string& at, bool decodes);

    M embedded(Tape& tape, const std::vector<std::int32_t>& ids);
    M self_attention(Tape& tape, const M& x, const std::string& at, bool decodes);
    M cross_attention(Tape& tape, const M& x, const M& encoded, const std::string& at);
    M attended(Tape& tape, const Attended& of, const std::string& projection, const Heads& heads);
    M mlp(Tape& tape, const M& x, const std::string& at);
    [[nodiscard]] std::size_t bucket(std::ptrdiff_t distance, bool both_ways) const;

    Tokens tokens_;
};

EncoderDecoder::EncoderDecoder(const strategies::Plan& plan, const RunSettings& settings)
    : ReferenceModel(plan, settings),
      tokens_(settings.data, plan.model.vocab, plan.training.seq + plan.training.decoder_seq, settings.seed) {
    parameter("embedding.words", spec_.vocab, spec_.hidden);
    if (learned()) parameter("embedding.positions", spec_.max_positions, spec_.hidden);
    if (spec_.relative_buckets > 0)
        for (const char* stack : {"encoder", "decoder"})
            parameter(std::string(stack) + ".position_biases", spec_.relative_buckets, spec_.heads);
    for (std::uint32_t l = 0; l < spec_.layers; ++l) layer_parameters(layer(l), false);
    norm(encoder_norm(), spec_.hidden);
    for (std::uint32_t l = 0; l < spec_.decoder_layers; ++l) layer_parameters(layer(spec_.layers + 1 + l), true);
    norm("final_norm", spec_.hidden);
    if (!spec_.tied_embeddings) parameter("logits.weight", spec_.vocab, spec_.hidden);
    if (spec_.logits_bias) parameter("logits.bias", 1, spec_.vocab, Initial::zeros);
}

void EncoderDecoder::layer_parameters(const std::string& at, bool decodes) {
    branch(at, "attention_norm", "projection");
    linear(at + "qkv", 3 * width(), spec_.hidden, spec_.linear_bias);
    if (decodes) {
        branch(at, "cross_norm", "cross_projection");
        linear(at + "cross_q", width(), spec_.hidden, spec_.linear_bias);
        linear(at + "cross_kv", 2 * width(), spec_.hidden, spec_.linear_bias);
    }
    norm(at + "mlp_norm", spec_.hidden);
    linear(at + "up", spec_.ffn * (spec_.gated ? 2 : 1), spec_.hidden, spec_.linear_bias);
    linear(at + "down", spec_.hidden, spec_.ffn, spec_.linear_bias);
}

M EncoderDecoder::embedded(Tape& tape, const std::vector<std::int32_t>& ids) {
    const M words = tape.rows_of(get("embedding.words"), ids);
    return learned() ? tape.plus(words, tape.first_rows(get("embedding.positions"), ids.size())) : words;
}

/// The first tokens are encoded; the decoder reads those behind them, and predicts each one's next.
M EncoderDecoder::loss(Tape& tape, std::uint32_t step, std::uint32_t sample) {
    const std::vector<std::int32_t> text = tokens_.sequence(step, sample);
    const auto middle = text.begin() + plan_.training.seq;
    M encoded = embedded(tape, {text.begin(), middle});
    for (std::uint32_t l = 0; l < spec_.layers; ++l)
        encoded = mlp(tape, self_attention(tape, encoded, layer(l), false), layer(l));
    encoded = normed(tape, encoded, encoder_norm());
    M x = embedded(tape, {middle, text.end() - 1});
    for (std::uint32_t l = 0; l < spec_.decoder_layers; ++l) {
        const std::string at = layer(spec_.layers + 1 + l);
        x = cross_attention(tape, self_attention(tape, x, at, true), encoded, at);
        x = mlp(tape, x, at);
    }
    x = normed(tape, x, "final_norm");
    M logits = tape.product(x, get(spec_.tied_embeddings ? "embedding.words" : "logits.weight"));
    if (has("logits.bias")) logits = tape.plus_row(logits, get("logits.bias"));
    return tape.cross_entropy(logits, {middle + 1, text.end()}, spec_.vocab);
}

M EncoderDecoder::attended(Tape& tape, const Attended& of, const std::string& projection, const Heads& heads) {
    return applied(tape, tape.attention(of.q, of.k, of.v, heads), projection);
}

M EncoderDecoder::self_attention(Tape& tape, const M& x, const std::string& at, bool decodes) {
    const M packed = applied(tape, normed(tape, x, at + "attention_norm"), at + "qkv");
    Heads heads{spec_.heads, spec_.heads, decodes};
    if (spec_.relative_buckets > 0) {
        heads.bias = get(decodes ? "decoder.position_biases" : "encoder.position_biases");
        heads.bucket = [this, decodes](std::ptrdiff_t distance) { return bucket(distance, !decodes); };
    }
    const auto part = [&](std::size_t number) { return tape.columns(packed, number * width(), width()); };
    return tape.plus(x, attended(tape, {part(0), part(1), part(2)}, at + "projection", heads));
}

M EncoderDecoder::cross_attention(Tape& tape, const M& x, const M& encoded, const std::string& at) {
    const M q = applied(tape, normed(tape, x, at + "cross_norm"), at + "cross_q");
    const M kv = applied(tape, encoded, at + "cross_kv");
    return tape.plus(x, attended(tape, {q, tape.columns(kv, 0, width()), tape.columns(kv, width(), width())},
                                 at + "cross_projection", {spec_.heads, spec_.heads, false}));
}

M EncoderDecoder::mlp(Tape& tape, const M& x, const std::string& at) {
    const M inner = activated(tape, applied(tape, normed(tape, x, at + "mlp_norm"), at + "up"));
    return tape.plus(x, applied(tape, inner, at + "down"));
}

/// Hugging Face, modeling_t5.py, _relative_position_bucket, line by line.
std::size_t EncoderDecoder::bucket(std::ptrdiff_t relative_position, bool bidirectional) const {
    std::size_t num_buckets = spec_.relative_buckets, relative_buckets = 0;
    if (bidirectional) {
        num_buckets /= 2;
        relative_buckets += relative_position > 0 ? num_buckets : 0;
        relative_position = relative_position < 0 ? -relative_position : relative_position;
    } else {
        relative_position = relative_position < 0 ? -relative_position : 0;
    }
    const std::size_t max_exact = num_buckets / 2, position = static_cast<std::size_t>(relative_position);
    if (position < max_exact) return relative_buckets + position;
    const auto exact = static_cast<double>(max_exact), rest = static_cast<double>(num_buckets - max_exact);
    const auto if_large = max_exact + static_cast<std::size_t>(std::log(static_cast<double>(position) / exact) /
                                                               std::log(128 / exact) * rest);
    return relative_buckets + std::min(if_large, num_buckets - 1);
}

}  // namespace

std::unique_ptr<ReferenceModel> reference_encoder_decoder(const strategies::Plan& plan, const RunSettings& settings) {
    return std::make_unique<EncoderDecoder>(plan, settings);
}

}  // namespace orrery::run
