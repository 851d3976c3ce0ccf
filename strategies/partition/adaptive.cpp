// Words in clusters by frequency at both ends of Transformer-XL, as NVIDIA's code runs them (DeepLearningExamples,
// mem_transformer.py, AdaptiveEmbedding; proj_adaptive_softmax.py). A cluster's tokens are gathered before its
// products; autograd writes zeros as large as what rows, or a slice, were taken of, and sums them. Masks and indices of
// tokens, for which the host waits, are left out.
#include <algorithm>
#include <cmath>

#include "strategies/partition/sharder.hpp"

namespace orrery::strategies {

namespace {

using kernels::Gemm;
using kernels::GemmPass;
using kernels::PointwiseKind;
using models::WordCluster;

std::uint32_t narrow(std::uint64_t value) { return static_cast<std::uint32_t>(value); }

/// Works on a piece's lists.
class Writer {
public:
    explicit Writer(LayerStream& stream, const char* name) : stream_(stream), piece_{.name = name} {}

    Piece& piece() { return piece_; }
    void there(const char* name, PointwiseKind kind, std::uint64_t rows, std::uint64_t cols) {
        piece_.forward.push_back({name, stream_.pointwise(kind, rows, cols)});
    }
    void back(const char* name, PointwiseKind kind, std::uint64_t rows, std::uint64_t cols) {
        piece_.backward.push_back({name, stream_.pointwise(kind, rows, cols)});
    }
    void product(const char* name, std::uint64_t rows, std::uint64_t in, std::uint64_t out) {
        piece_.forward.push_back({name, gemm(GemmPass::forward, rows, out, in)});
    }
    void gradients(const char* name, std::uint64_t rows, std::uint64_t in, std::uint64_t out) {
        piece_.backward.push_back({std::string(name) + " dgrad", gemm(GemmPass::data_gradient, rows, in, out)});
        piece_.backward.push_back({.name = std::string(name) + " wgrad",
                                   .what = gemm(GemmPass::weight_gradient, in, out, rows),
                                   .of_weights = true});
    }
    /// Into what was summed before.
    void accumulate(const char* name, std::uint64_t rows, std::uint64_t cols) {
        piece_.backward.push_back({.name = name,
                                   .what = kernels::Pointwise{PointwiseKind::add, stream_.sum_dtype(), rows, cols},
                                   .of_weights = true});
    }
    void parameter(std::string name, std::uint64_t rows, std::uint64_t cols) {
        stream_.parameter({.name = std::move(name), .parts = {rows}, .cols = cols, .replicated = true}, rows * cols);
    }
    void finish(const models::Operator& op) && {
        piece_.counts.trained = piece_.counts.replicated = models::parameters(op);
        stream_.layer.flow.complete = false;
        stream_.layer.pieces.push_back(std::move(piece_));
    }

private:
    [[nodiscard]] Gemm gemm(GemmPass pass, std::uint64_t m, std::uint64_t n, std::uint64_t k) const {
        return {stream_.element, 1, narrow(m), narrow(n), narrow(k), pass};
    }

    LayerStream& stream_;
    Piece piece_;
};

/// Of a micro-batch's tokens, those among a cluster's words.
std::uint64_t tokens_of(const WordCluster& cluster, std::uint64_t tokens) {
    return std::max<std::uint64_t>(1, std::llround(cluster.share * static_cast<double>(tokens)));
}

std::string label(const char* what, std::size_t cluster) { return std::string(what) + std::to_string(cluster); }

/// A cluster that has a projection: its tokens' rows are looked up, projected, and put among the others'.
void embed_cluster(Writer& out, const WordCluster& cluster, std::uint64_t tokens, std::uint64_t hidden) {
    const std::uint64_t own = tokens_of(cluster, tokens);
    out.there("word embedding", PointwiseKind::embedding, own, cluster.width);
    out.product("embedding projection", own, cluster.width, hidden);
    out.there("place embeddings", PointwiseKind::scale, own, hidden);
    out.back("embedding gradient copy", PointwiseKind::scale, tokens, hidden);
    out.back("gather embedding gradients", PointwiseKind::scale, own, hidden);
    out.gradients("embedding projection", own, cluster.width, hidden);
    out.back("embedding zeros", PointwiseKind::fill, cluster.words(), cluster.width);
    out.back("embedding backward", PointwiseKind::embedding_backward, own, cluster.width);
    out.accumulate("embedding accumulate", cluster.words(), cluster.width);
}

class LossSharder {
public:
    LossSharder(LayerStream& stream, const models::AdaptiveLoss& op)
        : stream_(stream), op_(op), out_(stream, "adaptive softmax"), tokens_(stream.tokens) {}

    void shard() && {
        parameters();
        for (std::size_t i = 0; i < op_.clusters.size(); ++i) cluster(i);
        // Every cluster's rows of the first softmax are gathered; their gradients are as large as all of it each.
        const std::uint64_t others = op_.clusters.size() - 1;
        for (std::uint64_t i = 0; i < others; ++i)
            out_.back("sum of first softmax gradients", PointwiseKind::add, tokens_, classes(0));
        backward_of_products();
        Piece& piece = out_.piece();
        piece.saved_bytes += tokens_ * op_.hidden * stream_.bytes;
        piece.working_bytes = 3 * tokens_ * classes(0) * stream_.bytes;
        piece.borrows_words = true;
        std::move(out_).finish(op_);
        stream_.value = no_value;
    }

private:
    /// Of a cluster's softmax.
    [[nodiscard]] std::uint64_t classes(std::size_t i) const {
        return op_.clusters[i].words() + (i == 0 ? op_.clusters.size() - 1 : 0);
    }
    /// Of tokens that a cluster's softmax runs over.
    [[nodiscard]] std::uint64_t rows(std::size_t i) const {
        return i == 0 ? tokens_ : tokens_of(op_.clusters[i], tokens_);
    }
    void parameters();
    void cluster(std::size_t i);
    void backward_of_products();

    LayerStream& stream_;
    const models::AdaptiveLoss& op_;
    Writer out_;
    std::uint64_t tokens_;
};

void LossSharder::parameters() {
    const std::uint64_t others = op_.clusters.size() - 1, width = op_.clusters.front().width;
    out_.parameter("clusters.weight", others, width);
    out_.parameter("clusters.bias", others, 1);
    for (std::size_t i = 0; i < op_.clusters.size(); ++i)
        out_.parameter(label("words.bias", i), op_.clusters[i].words(), 1);
    if (!op_.one_table) out_.parameter("projection", width, op_.hidden);
}

/// The log of a softmax over a cluster's words, forward and back to its logits; and of the first softmax the rows of
/// this cluster's tokens, in which their word's class or the cluster's is picked.
void LossSharder::cluster(std::size_t i) {
    const std::uint64_t own = tokens_of(op_.clusters[i], tokens_), rows = this->rows(i), words = classes(i);
    const std::uint64_t width = op_.clusters[i].width;
    if (i == 0) out_.there("join first weights", PointwiseKind::scale, words, width);
    if (i > 0) out_.there("gather hidden states", PointwiseKind::scale, rows, op_.hidden);
    if (!op_.one_table) out_.product("logits projection", rows, op_.hidden, width);
    out_.product("logits", rows, width, words);
    if (!op_.one_table) out_.there("logits bias", PointwiseKind::scale, rows, words);
    out_.there("log softmax", PointwiseKind::softmax, rows, words);
    out_.there("gather first softmax", PointwiseKind::scale, own, classes(0));
    out_.back("picked zeros", PointwiseKind::fill, own, classes(0));
    out_.back("first softmax zeros", PointwiseKind::fill, tokens_, classes(0));
    out_.back("first softmax gradient", PointwiseKind::add, own, classes(0));
    if (i > 0) out_.back("picked words zeros", PointwiseKind::fill, rows, words);
    out_.piece().saved_bytes += (rows * words + (op_.one_table ? 0 : rows * width)) * stream_.bytes;
    if (i > 0) out_.piece().saved_bytes += rows * op_.hidden * stream_.bytes;
}

/// From logits to hidden states and words. A slice of one table has a gradient as large as the table.
void LossSharder::backward_of_products() {
    for (std::size_t i = 0; i < op_.clusters.size(); ++i) {
        const std::uint64_t rows = this->rows(i), words = classes(i), width = op_.clusters[i].width;
        out_.back("log softmax backward", PointwiseKind::softmax_backward, rows, words);
        out_.back("logits bias gradient", PointwiseKind::bias_gradient, rows, words);
        out_.gradients("logits", rows, width, words);
        if (!op_.one_table) out_.gradients("logits projection", rows, op_.hidden, width);
        if (i > 0) {
            out_.back("hidden gradient zeros", PointwiseKind::fill, tokens_, op_.hidden);
            out_.back("place hidden gradients", PointwiseKind::add, rows, op_.hidden);
            out_.back("sum hidden gradients", PointwiseKind::add, tokens_, op_.hidden);
        }
        const std::uint64_t table = op_.one_table ? op_.clusters.back().end : words;
        if (op_.one_table) out_.back("table gradient zeros", PointwiseKind::fill, table, width);
        if (op_.one_table) out_.back("table gradient slice", PointwiseKind::scale, words, width);
        out_.accumulate("table gradient sum", table, width);
    }
}

}  // namespace

void shard_adaptive_embedding(LayerStream& stream, const models::AdaptiveEmbedding& op) {
    Writer out(stream, "embedding");
    const std::uint64_t tokens = stream.tokens;
    const bool one = op.clusters.size() == 1;
    for (std::size_t i = 0; i < op.clusters.size(); ++i) {
        const WordCluster& cluster = op.clusters[i];
        out.parameter(one ? word_embedding : label("embedding.words", i), cluster.words(), cluster.width);
        if (!one) out.parameter(label("embedding.projection", i), op.hidden, cluster.width);
    }
    if (one) out.there("word embedding", PointwiseKind::embedding, tokens, op.hidden);
    if (!one) out.there("embedding of clusters", PointwiseKind::fill, tokens, op.hidden);
    if (op.dropout) out.back("dropout backward", PointwiseKind::dropout_backward, tokens, op.hidden);
    out.back("scale embedding backward", PointwiseKind::scale, tokens, op.hidden);
    for (const WordCluster& cluster : op.clusters)
        if (!one) embed_cluster(out, cluster, tokens, op.hidden);
    out.there("scale embedding", PointwiseKind::scale, tokens, op.hidden);
    if (op.dropout) out.there("dropout", PointwiseKind::dropout, tokens, op.hidden);
    if (one) {
        out.back("embedding zeros", PointwiseKind::fill, op.clusters.front().words(), op.hidden);
        out.back("embedding backward", PointwiseKind::embedding_backward, tokens, op.hidden);
        out.accumulate("embedding accumulate", op.clusters.front().words(), op.hidden);
    }
    Piece& piece = out.piece();
    piece.saved_bytes = tokens * 8 + (op.dropout ? tokens * op.hidden : 0);  // ids, mask
    for (const WordCluster& cluster : op.clusters)
        if (!one) piece.saved_bytes += tokens_of(cluster, tokens) * cluster.width * stream.bytes;
    piece.working_bytes = 2 * tokens * op.hidden * stream.bytes;
    std::move(out).finish(op);
    stream.value = stream.activation(tokens * op.hidden);
}

void shard_adaptive_loss(LayerStream& stream, const models::AdaptiveLoss& op) { LossSharder(stream, op).shard(); }

}  // namespace orrery::strategies
