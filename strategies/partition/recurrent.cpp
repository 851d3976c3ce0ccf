// Transformer-XL's attention over a segment and a memory, as NVIDIA's code runs it (DeepLearningExamples,
// mem_transformer.py, RelPartialLearnableMultiHeadAttn) in PyTorch: einsum copies what it cannot view as batched
// products (aten, Linear.cpp, sumproduct_pair), and autograd writes zeros where a slice was taken. Kernels of a few
// numbers are left out.
#include "strategies/partition/sharder.hpp"

namespace orrery::strategies {

namespace {

using kernels::Gemm;
using kernels::GemmPass;
using kernels::PointwiseKind;

std::uint32_t narrow(std::uint64_t value) { return static_cast<std::uint32_t>(value); }

class RecurrentSharder {
public:
    RecurrentSharder(LayerStream& stream, const models::RecurrentAttention& op)
        : stream_(stream),
          op_(op),
          batch_(stream.plan.training.micro_batch),
          seq_(stream.seq()),
          keys_(seq_ + op.memory),
          products_(narrow(batch_ * op.heads)) {}

    void shard() && {
        parameters();
        forward();
        backward();
        keep();
        stream_.value = stream_.activation(batch_ * seq_ * op_.width());
        stream_.layer.flow.complete = false;
        stream_.layer.pieces.push_back(std::move(piece_));
    }

private:
    void parameters();
    void forward();
    void backward();
    void scores_backward();
    void queries_backward();
    void keep();

    [[nodiscard]] kernels::Pointwise over(PointwiseKind kind, std::uint64_t rows, std::uint64_t cols) const {
        return stream_.pointwise(kind, rows, cols);
    }
    [[nodiscard]] kernels::Pointwise over_scores(PointwiseKind kind) const {
        return over(kind, std::uint64_t{products_} * seq_, keys_);
    }
    /// Of each head of each sequence.
    [[nodiscard]] Gemm by_head(std::uint64_t m, std::uint64_t n, std::uint64_t k) const {
        return {stream_.element, products_, narrow(m), narrow(n), narrow(k)};
    }
    /// Of each head, the sequences' queries side by side: distances are the same for all.
    [[nodiscard]] Gemm by_distance(std::uint64_t m, std::uint64_t n, std::uint64_t k) const {
        return {stream_.element, narrow(op_.heads), narrow(m), narrow(n), narrow(k)};
    }
    [[nodiscard]] Gemm linear(GemmPass pass, std::uint64_t m, std::uint64_t n, std::uint64_t k) const {
        return {stream_.element, 1, narrow(m), narrow(n), narrow(k), pass};
    }
    void there(const char* name, const kernels::Kernel& kernel) { piece_.forward.push_back({name, kernel}); }
    void back(const char* name, const kernels::Kernel& kernel) { piece_.backward.push_back({name, kernel}); }
    void weight_gradient(const char* name, std::uint64_t in, std::uint64_t out, std::uint64_t rows) {
        piece_.backward.push_back(
            {.name = name, .what = linear(GemmPass::weight_gradient, in, out, rows), .of_weights = true});
        if (!adds_apart(stream_.plan)) return;
        piece_.backward.push_back({.name = std::string(name) + " accumulate",
                                   .what = kernels::Pointwise{PointwiseKind::add, stream_.sum_dtype(), in, out},
                                   .of_weights = true});
    }

    LayerStream& stream_;
    const models::RecurrentAttention& op_;
    std::uint64_t batch_, seq_, keys_;
    std::uint32_t products_;
    Piece piece_{.name = "recurrent attention"};
};

void RecurrentSharder::parameters() {
    const std::uint64_t width = op_.width();
    const auto matrix = [&](const char* name, std::uint64_t rows, std::uint64_t cols) {
        stream_.parameter({.name = name, .parts = {rows}, .cols = cols, .replicated = true}, rows * cols);
    };
    matrix("qkv.weight", 3 * width, op_.hidden);
    matrix("distances.weight", width, op_.hidden);
    if (op_.owns_biases) matrix("query biases", 2, width);
    piece_.counts.trained = piece_.counts.replicated = models::parameters(op_);
}

void RecurrentSharder::forward() {
    const std::uint64_t width = op_.width(), dim = op_.head_dim, tokens = batch_ * seq_, seen = batch_ * keys_;
    there("carry hidden states", over(PointwiseKind::scale, tokens, op_.hidden));
    there("join memory", over(PointwiseKind::scale, seen, op_.hidden));
    there("qkv", linear(GemmPass::forward, seen, 3 * width, op_.hidden));
    there("distances", linear(GemmPass::forward, keys_, width, op_.hidden));
    there("add content bias", over(PointwiseKind::scale, tokens, width));
    there("copy keys", over(PointwiseKind::transpose, seen, width));
    there("content scores", by_head(seq_, keys_, dim));
    there("add position bias", over(PointwiseKind::scale, tokens, width));
    there("copy queries", over(PointwiseKind::transpose, tokens, width));
    there("position scores", by_distance(tokens, keys_, dim));
    there("relative shift", over_scores(PointwiseKind::transpose));
    there("add and scale scores", over_scores(PointwiseKind::add));
    there("mask", over_scores(PointwiseKind::scale));
    there("softmax", over_scores(PointwiseKind::softmax));
    if (op_.dropout) there("attention dropout", over_scores(PointwiseKind::dropout));
    there("copy values", over(PointwiseKind::transpose, seen, width));
    there("attention context", by_head(seq_, dim, keys_));
    there("context copy", over(PointwiseKind::transpose, tokens, width));
}

/// From the values' weights back to the two kinds of scores. The shift was a slice of a padded tensor.
void RecurrentSharder::scores_backward() {
    const std::uint64_t dim = op_.head_dim;
    back("context dgrad scores", by_head(seq_, keys_, dim));
    back("context dgrad values", by_head(keys_, dim, seq_));
    if (op_.dropout) back("attention dropout backward", over_scores(PointwiseKind::dropout_backward));
    back("softmax backward", over_scores(PointwiseKind::softmax_backward));
    back("mask backward", over_scores(PointwiseKind::scale));
    back("scale backward", over_scores(PointwiseKind::scale));
    back("relative shift zeros", over_scores(PointwiseKind::fill));
    back("relative shift backward", over_scores(PointwiseKind::scale));
    back("position scores copy", over_scores(PointwiseKind::transpose));
}

/// Gradients of queries of both kinds meet, and lie among zeros where the memory's would be.
void RecurrentSharder::queries_backward() {
    const std::uint64_t width = op_.width(), tokens = batch_ * seq_, seen = batch_ * keys_;
    back("position bias gradient", over(PointwiseKind::bias_gradient, tokens, width));
    back("content bias gradient", over(PointwiseKind::bias_gradient, tokens, width));
    back("sum query gradients", over(PointwiseKind::add, tokens, width));
    back("memory's query zeros", over(PointwiseKind::fill, seen, width));
    back("query gradients", over(PointwiseKind::scale, tokens, width));
    back("join qkv gradients", over(PointwiseKind::transpose, seen, 3 * width));
}

void RecurrentSharder::backward() {
    const std::uint64_t width = op_.width(), dim = op_.head_dim, tokens = batch_ * seq_, seen = batch_ * keys_;
    scores_backward();
    back("position scores dgrad queries", by_distance(tokens, dim, keys_));
    back("position scores dgrad distances", by_distance(keys_, dim, tokens));
    back("content scores dgrad queries", by_head(seq_, dim, keys_));
    back("content scores dgrad keys", by_head(keys_, dim, seq_));
    queries_backward();
    weight_gradient("distances wgrad", op_.hidden, width, keys_);
    back("qkv dgrad", linear(GemmPass::data_gradient, seen, op_.hidden, 3 * width));
    weight_gradient("qkv wgrad", op_.hidden, 3 * width, seen);
}

/// What autograd keeps: the joined states, both kinds of queries, keys and values as the products took them, keys of
/// distances, the softmax's output, of a dropout its mask and output; and the states that the next segment sees, beside
/// those that this one does.
void RecurrentSharder::keep() {
    const std::uint64_t width = op_.width(), tokens = batch_ * seq_, seen = batch_ * keys_,
                        scores = std::uint64_t{products_} * seq_ * keys_;
    const std::uint64_t rows = seen * op_.hidden + 2 * tokens * width + 2 * seen * width + keys_ * width;
    const std::uint64_t carried = batch_ * (seq_ + op_.memory) * op_.hidden;
    piece_.saved_bytes = (rows + scores + carried) * stream_.bytes;
    if (op_.dropout) piece_.saved_bytes += scores * (1 + stream_.bytes);
    piece_.weight_saved_bytes = seen * op_.hidden * stream_.bytes;
    piece_.output_gradient_bytes = seen * 3 * width * stream_.bytes;
    piece_.working_bytes = 3 * scores * stream_.bytes;
}

}  // namespace

void shard_recurrent_attention(LayerStream& stream, const models::RecurrentAttention& op) {
    RecurrentSharder(stream, op).shard();
}

void shard_dropout(LayerStream& stream, const models::Dropout& op) {
    Piece piece{.name = "dropout"};
    add_dropout(stream, piece, "dropout", {stream.element, stream.tokens, op.width});
    const std::uint64_t elements = stream.tokens * op.width;
    piece.saved_bytes = elements * (1 + (op.keeps_input ? stream.bytes : 0));  // the mask
    piece.working_bytes = elements * stream.bytes;
    stream.value = stream.activation(elements);
    stream.layer.flow.complete = false;
    stream.layer.pieces.push_back(std::move(piece));
}

}  // namespace orrery::strategies
