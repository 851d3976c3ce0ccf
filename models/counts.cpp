// Parameters and floating-point operations, both summed over the operators.
#include "models/operators.hpp"

namespace orrery::models {

namespace {

/// Of one expert's MLP.
std::uint64_t expert_parameters(const Experts& moe) {
    const std::uint64_t inner = (moe.gated ? 2 : 1) * moe.ffn;
    return moe.width() * (inner + moe.ffn) + (moe.bias ? inner + moe.width() : 0);
}

/// Whether clusters have projections to the hidden width.
bool projected(const AdaptiveEmbedding& embedding) { return embedding.clusters.size() > 1; }

struct Parameters {
    std::uint64_t operator()(const Linear& linear) const {
        if (linear.again) return 0;
        const std::uint64_t weight = linear.shares_embedding ? 0 : linear.in_features * linear.out_features;
        return weight + (linear.bias ? linear.out_features : 0);
    }
    std::uint64_t operator()(const Embedding& embedding) const {
        const std::uint64_t tables = embedding.shared ? 0 : embedding.vocab + embedding.positions;
        return (tables + embedding.token_types) * embedding.hidden;
    }
    std::uint64_t operator()(const RelativePositions& table) const { return table.buckets * table.heads; }
    std::uint64_t operator()(const Norm& norm) const {
        return (norm.kind == NormKind::layernorm ? 2 : 1) * norm.width;  // RMSNorm has no bias
    }
    std::uint64_t operator()(const Rope& rope) const {
        return rope.norm ? (rope.norm_whole ? rope.heads : 2) * rope.head_dim : 0;
    }
    std::uint64_t operator()(const AttentionCore&) const { return 0; }
    std::uint64_t operator()(const Activation&) const { return 0; }
    std::uint64_t operator()(const Experts& moe) const {
        return moe.experts * (moe.hidden + expert_parameters(moe)) + (moe.gates_shared ? moe.hidden : 0) +
               2 * moe.hidden * moe.latent;
    }
    /// Of each convolved channel a weight a token and a bias; of each head the step's bias, the decay and what goes
    /// past the states; the norm's weights (mamba_mixer.py).
    std::uint64_t operator()(const StateMixer& mixer) const {
        const MambaSpec& shape = mixer.shape;
        return shape.convolved() * (shape.window + 1ULL) + 3ULL * shape.heads + shape.inner();
    }
    std::uint64_t operator()(const ResidualAdd&) const { return 0; }
    std::uint64_t operator()(const Loss&) const { return 0; }
    std::uint64_t operator()(const Convolution& c) const {
        return c.outputs * (c.kernel * c.kernel * c.in.channels + (c.bias ? 1 : 0));
    }
    std::uint64_t operator()(const BatchNorm& norm) const { return 2 * norm.shape.channels; }
    std::uint64_t operator()(const Relu&) const { return 0; }
    std::uint64_t operator()(const Pooling&) const { return 0; }
    std::uint64_t operator()(const Join&) const { return 0; }
    std::uint64_t operator()(const Dropout&) const { return 0; }
    std::uint64_t operator()(const Concatenation&) const { return 0; }
    std::uint64_t operator()(const PatchEmbedding& e) const {
        return e.pixels() * e.hidden + (e.bias ? e.hidden : 0) + (e.patches() + 2) * e.hidden;  // token, positions
    }
    std::uint64_t operator()(const PickToken&) const { return 0; }
    std::uint64_t operator()(const ContrastiveLoss&) const { return 1; }  // logit_scale
    /// Queries, keys and values; keys of distances; two biases.
    std::uint64_t operator()(const RecurrentAttention& core) const {
        return 4 * core.hidden * core.width() + (core.owns_biases ? 2 * core.width() : 0);
    }
    std::uint64_t operator()(const AdaptiveEmbedding& embedding) const {
        std::uint64_t sum = 0;
        for (const WordCluster& cluster : embedding.clusters)
            sum += cluster.words() * cluster.width + (projected(embedding) ? cluster.width * embedding.hidden : 0);
        return sum;
    }
    /// A bias for each word; a vector and a bias for each other cluster; the first projection.
    std::uint64_t operator()(const AdaptiveLoss& loss) const {
        const WordCluster& head = loss.clusters.front();
        const std::uint64_t others = loss.clusters.size() - 1;
        return loss.clusters.back().end + others * (head.width + 1) + (loss.one_table ? 0 : head.width * loss.hidden);
    }
};

/// Forward operations of one example: matrix products only, a multiply-add as two. seq: tokens of the layer; second:
/// of its second input; document: among which alone attention runs, 0: among all.
struct ForwardFlops {
    double seq, second, document;

    double operator()(const Linear& linear) const {
        const double rows = linear.second_input ? second : seq;
        return rows * 2.0 * static_cast<double>(linear.in_features) * static_cast<double>(linear.out_features);
    }
    double operator()(const AttentionCore& core) const {
        const double length = document > 0 ? document : seq;
        double pairs = seq * (core.cross ? second : length);  // Q K^T and P V over the full rectangle
        const auto window = static_cast<double>(core.window);
        if (core.window > 0 && window < length) pairs = seq / length * window * (2 * length - window);
        return 2.0 * pairs * static_cast<double>(core.heads * (core.head_dim + core.values()));
    }
    double operator()(const Experts& moe) const {
        const std::uint64_t products = moe.width() * moe.ffn * (moe.gated ? 3 : 2);
        return seq * 2.0 *
               static_cast<double>((moe.experts + (moe.gates_shared ? 1 : 0) + 2 * moe.latent) * moe.hidden +
                                   moe.top_k * products);
    }
    /// Megatron-LM's count of a scan (training.py, mamba_layer_flops: 7 tokens x inner x state), of the inner width
    /// that there is (it takes twice the hidden size).
    double operator()(const StateMixer& mixer) const {
        return 7.0 * seq * static_cast<double>(mixer.shape.inner()) * mixer.shape.state;
    }
    double operator()(const Convolution& c) const {
        const Image out = c.out();
        return 2.0 * static_cast<double>(out.elements()) * static_cast<double>(c.kernel * c.kernel * c.in.channels);
    }
    double operator()(const Embedding&) const { return 0.0; }
    double operator()(const RelativePositions&) const { return 0.0; }
    double operator()(const Norm&) const { return 0.0; }
    double operator()(const Rope&) const { return 0.0; }
    double operator()(const Activation&) const { return 0.0; }
    double operator()(const ResidualAdd&) const { return 0.0; }
    double operator()(const Loss&) const { return 0.0; }
    double operator()(const BatchNorm&) const { return 0.0; }
    double operator()(const Relu&) const { return 0.0; }
    double operator()(const Pooling&) const { return 0.0; }
    double operator()(const Join&) const { return 0.0; }
    double operator()(const Dropout&) const { return 0.0; }
    double operator()(const Concatenation&) const { return 0.0; }
    double operator()(const PatchEmbedding& e) const {
        return 2.0 * static_cast<double>(e.patches() * e.pixels()) * static_cast<double>(e.hidden);
    }
    double operator()(const PickToken&) const { return 0.0; }
    double operator()(const ContrastiveLoss&) const { return 0.0; }  // its products grow with the batch's square
    /// Scores of two kinds, and values, over the segment and its memory.
    double operator()(const RecurrentAttention& core) const {
        const double keys = seq + static_cast<double>(core.memory), width = static_cast<double>(core.width());
        const double made = keys * 2.0 * 4.0 * static_cast<double>(core.hidden) * width;
        return made + 2.0 * 3.0 * seq * keys * width;
    }
    double operator()(const AdaptiveEmbedding& embedding) const {
        double columns = 0;
        for (const WordCluster& cluster : embedding.clusters)
            if (projected(embedding)) columns += cluster.share * static_cast<double>(cluster.width);
        return seq * 2.0 * columns * static_cast<double>(embedding.hidden);
    }
    double operator()(const AdaptiveLoss& loss) const {
        double sum = 0;
        for (const WordCluster& cluster : loss.clusters) {
            const bool head = cluster.first == 0;
            const auto width = static_cast<double>(cluster.width);
            const auto words = static_cast<double>(cluster.words() + (head ? loss.clusters.size() - 1 : 0));
            const double projection = loss.one_table ? 0.0 : static_cast<double>(loss.hidden) * width;
            sum += (head ? 1.0 : cluster.share) * (projection + words * width);
        }
        return seq * 2.0 * sum;
    }
};

/// Tokens of the two sequences, and of the documents that they are of; 0: they are one each.
struct Lengths {
    double encoded, decoded, document;

    [[nodiscard]] double of(const Shape& shape) const {
        const auto* tokens = std::get_if<Tokens>(&shape);
        if (tokens == nullptr || tokens->sequence == Sequence::only) return encoded;
        return tokens->sequence == Sequence::pooled ? 1.0 : decoded;
    }
};

Lengths lengths_of(std::uint64_t encoded, std::uint64_t decoded, std::uint64_t document) {
    return {static_cast<double>(encoded), static_cast<double>(decoded), static_cast<double>(document)};
}

/// Of one example.
double forward_flops(const Layer& layer, const Lengths& lengths) {
    const double seq = lengths.of(layer.inputs.empty() ? layer.output : layer.inputs.front());
    const ForwardFlops count{seq, layer.inputs.size() < 2 ? 0.0 : lengths.of(layer.inputs[1]), lengths.document};
    double sum = 0.0;
    for (const Operator& op : layer.operators) sum += std::visit(count, op);
    return sum;
}

/// Of one example, each layer's as often as `times` says.
template <class Times>
double forward_flops(const Model& model, const Lengths& lengths, Times times) {
    const std::vector<std::uint64_t> uses = model.uses();
    double sum = 0.0;
    for (std::size_t i = 0; i < uses.size(); ++i)
        sum += times(model.layers[i]) * static_cast<double>(uses[i]) * forward_flops(model.layers[i], lengths);
    return sum;
}

/// Forward, and where there is one a backward of twice as much.
double passes(const Layer& layer) { return layer.frozen ? 1 : 3; }

}  // namespace

std::uint64_t parameters(const Operator& op) { return std::visit(Parameters{}, op); }

std::uint64_t parameters(const Layer& layer) {
    std::uint64_t sum = 0;
    for (const Operator& op : layer.operators) sum += parameters(op);
    return sum;
}

std::uint64_t parameters(const Model& model) {
    const std::vector<std::uint64_t> uses = model.uses();
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < uses.size(); ++i) sum += uses[i] * parameters(model.layers[i]);
    return sum;
}

std::uint64_t active_parameters(const Model& model) {
    const std::vector<std::uint64_t> uses = model.uses();
    std::uint64_t idle = 0;
    for (std::size_t i = 0; i < uses.size(); ++i)
        for (const Operator& op : model.layers[i].operators)
            if (const auto* moe = std::get_if<Experts>(&op))
                idle += uses[i] * (moe->experts - moe->top_k) * expert_parameters(*moe);
    return parameters(model) - idle;
}

double model_flops(const Model& model, std::uint64_t sequences, std::uint64_t encoded, std::uint64_t decoded,
                   std::uint64_t document) {
    const Lengths lengths = lengths_of(encoded, decoded, document);
    return static_cast<double>(sequences) * forward_flops(model, lengths, passes);
}

double model_flops(const Model& model, std::uint64_t sequences, std::uint64_t seq) {
    return model_flops(model, sequences, seq, seq);
}

double causal_attention_flops(const Model& model, std::uint64_t sequences, std::uint64_t encoded, std::uint64_t decoded,
                              std::uint64_t document) {
    const Lengths lengths = lengths_of(encoded, decoded, document);
    const std::vector<std::uint64_t> uses = model.uses();
    double sum = 0.0;
    for (std::size_t i = 0; i < uses.size(); ++i) {
        const double seq = lengths.of(model.layers[i].output);
        for (const Operator& op : model.layers[i].operators)
            if (const auto* core = std::get_if<AttentionCore>(&op); core != nullptr && core->causal)
                sum += passes(model.layers[i]) * static_cast<double>(uses[i]) *
                       ForwardFlops{seq, seq, lengths.document}(*core);
    }
    return static_cast<double>(sequences) * sum;
}

double hardware_flops_full_recompute(const Model& model, std::uint64_t sequences, std::uint64_t encoded,
                                     std::uint64_t decoded, std::uint64_t document) {
    const Lengths lengths = lengths_of(encoded, decoded, document);
    const double again = forward_flops(model, lengths, [](const Layer& layer) {
        const bool runs_again = !layer.frozen && (layer.part == Part::body || layer.part == Part::further);
        return runs_again ? 1.0 : 0.0;
    });
    return model_flops(model, sequences, encoded, decoded, document) + static_cast<double>(sequences) * again;
}

double hardware_flops_full_recompute(const Model& model, std::uint64_t sequences, std::uint64_t seq) {
    return hardware_flops_full_recompute(model, sequences, seq, seq);
}

}  // namespace orrery::models
