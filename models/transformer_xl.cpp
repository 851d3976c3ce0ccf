// Transformer-XL (Dai et al. 2019, arXiv:1901.02860) as NVIDIA trains it (DeepLearningExamples,
// PyTorch/LanguageModeling/ Transformer-XL, mem_transformer.py): norms behind the residual additions, ReLU, a dropout
// within the MLP, no biases in attention, words in clusters by frequency that embedding and logits share.
#include <cmath>
#include <utility>

#include "models/families.hpp"

namespace orrery::models {

namespace {

/// WikiText-103 (Merity et al. 2016, arXiv:1609.07843, table 1): tokens in training, and how often its rarest word
/// occurs.
constexpr double tokens_of_text = 103'227'021, rarest = 3;

/// How often words occur by their rank: as 1 / rank up to `bend`, as bend / rank^2 behind it (two regimes of Zipf's
/// law, Ferrer i Cancho and Sole 2001). The bend is where shares sum to one and the last word occurs as often as it
/// does.
class WordShares {
public:
    explicit WordShares(double vocabulary) : vocabulary_(vocabulary) {
        const double least = rarest / tokens_of_text;
        double low = 1, high = vocabulary;
        constexpr int halvings = 60;
        for (int i = 0; i < halvings; ++i) {
            bend_ = std::sqrt(low * high);
            (at_first() * bend_ / (vocabulary_ * vocabulary_) < least ? low : high) = bend_;
        }
    }

    /// Of the words [first, end).
    [[nodiscard]] double of(double first, double end) const { return at_first() * (below(end) - below(first)); }

private:
    /// The share of the first word.
    [[nodiscard]] double at_first() const { return 1 / below(vocabulary_); }
    /// Of the first `words` in multiples of that: the sum of 1 / rank is the logarithm and Euler's constant.
    [[nodiscard]] double below(double words) const {
        constexpr double euler = 0.5772156649;
        if (words < 1) return 0;
        if (words <= bend_) return std::log(words) + euler;
        return std::log(bend_) + euler + 1 - bend_ / words;
    }

    double vocabulary_, bend_ = 1;
};

/// With a divisor of 1 the words' tables are one; the softmax has its clusters all the same.
std::vector<WordCluster> clusters_of(const ModelSpec& spec) {
    const WordShares shares(spec.vocab);
    std::vector<WordCluster> clusters;
    std::uint64_t first = 0, width = spec.hidden;
    const auto append = [&](std::uint64_t end) {
        clusters.push_back({first, end, width, shares.of(static_cast<double>(first), static_cast<double>(end))});
        first = end;
        width /= spec.recurrence.divisor;
    };
    for (const std::uint32_t end : spec.recurrence.cutoffs) append(end);
    append(spec.vocab);
    return clusters;
}

Norm norm(const ModelSpec& spec, const char* name) {
    return {.name = name, .kind = NormKind::layernorm, .width = spec.hidden};
}

Layer embedding(const ModelSpec& spec, bool one_table) {
    AdaptiveEmbedding words{.clusters = clusters_of(spec), .hidden = spec.hidden, .dropout = spec.dropout > 0};
    if (one_table) words.clusters = {{0, spec.vocab, spec.hidden, 1.0}};
    return {.name = "embedding", .operators = {std::move(words)}, .part = Part::input, .output = Tokens{spec.hidden}};
}

Layer block(const ModelSpec& spec, bool first) {
    const std::uint64_t width = std::uint64_t{spec.heads} * spec.head_dim;
    const bool drops = spec.dropout > 0;
    const ResidualAdd residual{.width = spec.hidden, .bias = false, .dropout = drops};
    Layer layer{
        .name = first ? "first block" : "block", .inputs = {Tokens{spec.hidden}}, .output = Tokens{spec.hidden}};
    auto& operators = layer.operators;
    operators = {
        RecurrentAttention{.hidden = spec.hidden,
                           .heads = spec.heads,
                           .head_dim = spec.head_dim,
                           .memory = spec.recurrence.memory,
                           .dropout = drops && !spec.hidden_dropout_alone,
                           .owns_biases = first},
        Linear{.name = "projection",
               .in = Dim::attention,
               .out = Dim::hidden,
               .in_features = width,
               .out_features = spec.hidden,
               .bias = false},
        residual,
        norm(spec, "attention_norm"),
        Linear{.name = "up", .in = Dim::hidden, .out = Dim::ffn, .in_features = spec.hidden, .out_features = spec.ffn},
        Activation{.width = spec.ffn, .kind = ActivationKind::relu}};
    if (drops) operators.emplace_back(Dropout{.width = spec.ffn, .keeps_input = true});
    operators.emplace_back(Linear{
        .name = "down", .in = Dim::ffn, .out = Dim::hidden, .in_features = spec.ffn, .out_features = spec.hidden});
    operators.emplace_back(residual);
    operators.emplace_back(norm(spec, "mlp_norm"));
    return layer;
}

ModelSpec transformer_xl(ModelSpec row) {
    row.vocab = 267735;  // WikiText-103's words
    row.recurrence.cutoffs = {19997, 39997, 199997};
    row.head_dim = 64;
    return with_transformer_xl_structure(std::move(row));
}

}  // namespace

ModelSpec with_transformer_xl_structure(ModelSpec spec) {
    ModelSpec out;
    out.name = std::move(spec.name);
    out.family = Family::transfo_xl;
    out.layers = spec.layers;
    out.hidden = spec.hidden;
    out.heads = spec.heads;
    out.head_dim = spec.head_dim;
    out.ffn = spec.ffn;
    out.vocab = spec.vocab;
    out.dropout = spec.dropout;
    out.hidden_dropout_alone = spec.hidden_dropout_alone;
    out.recurrence = spec.recurrence;
    out.activation = ActivationKind::relu;
    out.post_norm = true;
    out.qkv_bias = false;
    out.position = PositionKind::none;
    return with_derived_widths(std::move(out));
}

Model build_transformer_xl(const ModelSpec& spec) {
    const bool one_table = spec.recurrence.divisor == 1;
    Layer head{.name = "head", .part = Part::output, .inputs = {Tokens{spec.hidden}}, .output = Tokens{1}};
    if (spec.dropout > 0) head.operators.emplace_back(Dropout{.width = spec.hidden});
    head.operators.emplace_back(
        AdaptiveLoss{.clusters = clusters_of(spec), .hidden = spec.hidden, .one_table = one_table});
    Model model{.spec = spec,
                .layers = {embedding(spec, one_table), block(spec, true), block(spec, false), std::move(head)},
                .nodes = {{.layer = 0}}};
    for (std::uint32_t i = 0; i <= spec.layers; ++i)
        model.nodes.push_back({.layer = i == 0 ? 1U : i < spec.layers ? 2U : 3U, .inputs = {i}});
    return model;
}

// clang-format off
std::vector<ModelSpec> transformer_xl_models() {
    return {
        // NVIDIA DeepLearningExamples, wt103_base.yaml and wt103_large.yaml.
        transformer_xl({.name = "transformer-xl-base",  .layers = 16, .hidden = 512,  .heads = 8,  .ffn = 2048,
            .dropout = 0.1, .hidden_dropout_alone = true, .recurrence = {.memory = 192, .divisor = 1}}),
        transformer_xl({.name = "transformer-xl-large", .layers = 18, .hidden = 1024, .heads = 16, .ffn = 4096,
            .dropout = 0.2, .recurrence = {.memory = 384, .divisor = 4}}),
    };
}
// clang-format on

}  // namespace orrery::models
