// Attention as a framework runs it that has no fused kernel: batched products around a softmax over seq x seq.
#include <array>
#include <cmath>
#include <utility>

#include "strategies/partition/attention.hpp"

namespace orrery::strategies {

namespace {

using Shape = AttentionShape;
using kernels::Dtype;
using kernels::Gemm;
using kernels::GemmPass;
using kernels::Pointwise;
using kernels::PointwiseKind;

/// As in Megatron-LM's core attention: baddbmm, fused scale-mask-softmax, dropout, bmm, and a copy to [tokens, hidden].
/// Other frameworks scale and mask by kernels of their own; under mixed precision TensorFlow's softmax is in fp32:
/// these are priced and not executed, and so are biases of positions and attention to another sequence. Under
/// torch.autocast the dropout behind it is in fp32 too.
class UnfusedAttention {
public:
    UnfusedAttention(LayerStream& stream, const Shape& s, const AttentionHeads& heads, Piece& piece);

    /// Leaves the stream its result.
    void shard() &&;

private:
    void forward();
    void backward();
    void drop();
    void join_gradients();
    void account();

    /// The executed part of an operation.
    [[nodiscard]] Detail detail(std::vector<View> operands, Launch launch = {}) const {
        return executed_ ? Detail{std::move(operands), std::move(launch)} : Detail{};
    }
    void add(std::vector<Work>& list, const char* name, kernels::Kernel what, Detail how = {}) const {
        list.push_back({.name = name, .what = what, .detail = std::move(how)});
    }
    [[nodiscard]] Gemm gemm(std::uint32_t n, std::uint32_t k, GemmPass pass = GemmPass::forward) const {
        return {s_.dtype, products_, s_.seq, n, k, pass};
    }
    [[nodiscard]] Gemm of_keys(std::uint32_t n, GemmPass pass = GemmPass::forward) const {
        return {s_.dtype, products_, s_.keys, n, s_.seq, pass};
    }
    [[nodiscard]] Pointwise over_scores(PointwiseKind kind) const { return {kind, s_.dtype, rows_, s_.keys}; }
    [[nodiscard]] Pointwise softmax(PointwiseKind kind) const {
        return {kind, widens_ ? Dtype::fp32 : s_.dtype, rows_, s_.keys};
    }
    [[nodiscard]] Cells scores() const { return {stream_.element, rows_, s_.keys}; }
    [[nodiscard]] Cells weights() const { return {autocast_ ? Dtype::fp32 : stream_.element, rows_, s_.keys}; }
    [[nodiscard]] Pointwise context_copy() const {
        return {PointwiseKind::transpose, s_.dtype, s_.tokens(), s_.result_row()};
    }
    /// A product in the layout that its operands have. a or b packed: heads inside rows of so many elements; shared:
    /// heads that read the same ones.
    [[nodiscard]] Launch product(const Gemm& kernel, std::uint64_t a_stride, std::uint64_t b_stride,
                                 std::uint32_t shared) const;
    [[nodiscard]] Launch of_softmax() const;
    [[nodiscard]] Launch copy(std::uint64_t columns, bool joined) const;
    [[nodiscard]] std::uint64_t stride(std::uint64_t own) const {
        return heads_.row_stride > 0 ? heads_.row_stride : own;
    }
    [[nodiscard]] std::uint64_t query_stride() const { return stride(s_.query_row()); }
    [[nodiscard]] std::uint64_t key_stride() const { return stride(std::uint64_t{s_.kv_heads} * s_.head_dim); }
    [[nodiscard]] std::uint64_t value_stride() const { return stride(std::uint64_t{s_.kv_heads} * s_.value_dim); }
    [[nodiscard]] View own(std::uint64_t columns) const { return {stream_.activation(rows_ * columns)}; }
    [[nodiscard]] View gradients(std::uint64_t tokens, std::uint64_t columns) const {
        return {stream_.flow.gradient(stream_.format(), products_ * tokens * columns)};
    }
    [[nodiscard]] View gradient_of(const View& view) const {
        return {stream_.flow.gradient_of(view.value), view.offset};
    }

    LayerStream& stream_;
    const Shape& s_;
    const AttentionHeads& heads_;
    Piece& piece_;
    KernelFusion fusion_;
    bool apart_, autocast_, widens_, executed_;
    std::uint32_t products_, group_;
    std::uint64_t rows_;  ///< of scores
    Piece dropout_{};
    /// [products, seq, keys]: scores, probabilities, and these behind the dropout; [products, seq, values]: results.
    View scores_, probabilities_, weights_, results_, context_;
    std::array<View, 3> formed_;  ///< gradients of queries, keys and values, of each query head by itself
};

UnfusedAttention::UnfusedAttention(LayerStream& stream, const Shape& s, const AttentionHeads& heads, Piece& piece)
    : stream_(stream),
      s_(s),
      heads_(heads),
      piece_(piece),
      fusion_(stream.plan.training.kernel_fusion),
      apart_(fusion_ != KernelFusion::full),
      autocast_(apart_ && stream.plan.training.autocast),
      widens_(autocast_ || (fusion_ == KernelFusion::primitives && s.element_bytes == 2)),
      executed_(!apart_ && !s.biased && !s.cross),
      products_(s.batch * s.heads),
      group_(s.heads / s.kv_heads),
      rows_(std::uint64_t{products_} * s.seq),
      scores_(own(s.keys)),
      probabilities_(own(s.keys)),
      weights_(probabilities_),
      results_(own(s.value_dim)),
      context_{stream.activation(s.tokens() * s.result_row())},
      formed_{gradients(s.seq, s.head_dim), gradients(s.keys, s.head_dim), gradients(s.keys, s.value_dim)} {}

Launch UnfusedAttention::product(const Gemm& kernel, std::uint64_t a_stride, std::uint64_t b_stride,
                                 std::uint32_t shared) const {
    Launch launch;
    launch.kernel = kernel;
    launch.settings.heads = {.count = s_.heads, .a_stride = a_stride, .b_stride = b_stride, .shared = shared};
    return launch;
}

Launch UnfusedAttention::of_softmax() const {
    Launch launch;
    launch.settings.scale_factor = 1 / std::sqrt(static_cast<double>(s_.head_dim));
    launch.settings.scores = kernels::Attention{s_.dtype, false,    s_.causal,   s_.batch, s_.seq,
                                                s_.heads, s_.heads, s_.head_dim, s_.keys,  s_.window_in(s_.seq)};
    return launch;
}

Launch UnfusedAttention::copy(std::uint64_t columns, bool joined) const {
    Launch launch;
    launch.settings.heads = {.columns = columns, .tokens = s_.seq, .joined = joined};
    return launch;
}

/// Its output weighs the values.
void UnfusedAttention::drop() {
    if (apart_) return add_dropout(stream_, dropout_, "attention dropout", weights());
    const View mask{stream_.flow.activation(kernels::Format::mask, rows_ * s_.keys)};
    weights_ = own(s_.keys);
    const Launch launch = stream_.next_dropout(DropoutSite::Of::scores);
    add(dropout_.forward, "attention dropout", over_scores(PointwiseKind::dropout),
        detail({probabilities_, mask, weights_}, launch));
    add(dropout_.backward, "attention dropout backward", over_scores(PointwiseKind::dropout_backward),
        detail({gradient_of(weights_), mask, gradient_of(probabilities_)}, launch));
}

void UnfusedAttention::forward() {
    auto& list = piece_.forward;
    const auto& [q, k, v] = heads_.views;
    add(list, "attention scores", gemm(s_.keys, s_.head_dim),
        detail({q, k, scores_}, product(gemm(s_.keys, s_.head_dim), query_stride(), key_stride(), group_)));
    if (s_.biased) add(list, "position bias", over_scores(PointwiseKind::add));
    if (apart_) add_passes(list, "scale and mask", scores(), 2, 0);
    if (widens_) add(list, "scores to fp32", over_scores(PointwiseKind::cast));
    add(list, "softmax", softmax(PointwiseKind::softmax), detail({scores_, probabilities_}, of_softmax()));
    const auto narrow = [&] { add(list, "probabilities to 16 bits", over_scores(PointwiseKind::cast)); };
    if (widens_ && !autocast_) narrow();
    if (s_.dropout) drop();
    list.insert(list.end(), dropout_.forward.begin(), dropout_.forward.end());
    if (autocast_) narrow();
    add(list, "attention context", gemm(s_.value_dim, s_.keys),
        detail({weights_, v, results_},
               product(gemm(s_.value_dim, s_.keys, GemmPass::data_gradient), 0, value_stride(), group_)));
    add(list, "context copy", context_copy(), detail({results_, context_}, copy(s_.value_dim, true)));
}

void UnfusedAttention::backward() {
    auto& list = piece_.backward;
    const auto& [q, k, v] = heads_.views;
    const View d_results = gradient_of(results_), d_scores = gradient_of(scores_);
    add(list, "context copy backward", context_copy(),
        detail({gradient_of(context_), d_results}, copy(s_.value_dim, false)));
    add(list, "attention context dgrad scores", gemm(s_.keys, s_.value_dim),
        detail({d_results, v, gradient_of(weights_)}, product(gemm(s_.keys, s_.value_dim), 0, value_stride(), group_)));
    add(list, "attention context dgrad values", of_keys(s_.value_dim),
        detail({weights_, d_results, formed_[2]}, product(of_keys(s_.value_dim, GemmPass::weight_gradient), 0, 0, 1)));
    const auto widen = [&] { add(list, "gradient to fp32", over_scores(PointwiseKind::cast)); };
    if (autocast_) widen();
    list.insert(list.end(), dropout_.backward.begin(), dropout_.backward.end());
    if (widens_ && !autocast_) widen();
    add(list, "softmax backward", softmax(PointwiseKind::softmax_backward),
        detail({probabilities_, gradient_of(probabilities_), d_scores}, of_softmax()));
    if (widens_) add(list, "gradient to 16 bits", over_scores(PointwiseKind::cast));
    if (apart_) add_passes(list, "scale backward", scores(), 1, 0);
    if (s_.biased) add(list, "position bias gradient", over_scores(PointwiseKind::bias_gradient));
    add(list, "attention scores dgrad queries", gemm(s_.head_dim, s_.keys),
        detail({d_scores, k, formed_[0]},
               product(gemm(s_.head_dim, s_.keys, GemmPass::data_gradient), 0, key_stride(), group_)));
    add(list, "attention scores dgrad keys", of_keys(s_.head_dim),
        detail({d_scores, q, formed_[1]},
               product(of_keys(s_.head_dim, GemmPass::weight_gradient), 0, query_stride(), 1)));
    if (!apart_ && !stream_.plan.heads_apart()) join_gradients();
}

/// One layer made queries, keys and values (torch.split): their gradients are joined to one tensor's, those of heads
/// that share keys and values summed.
void UnfusedAttention::join_gradients() {
    const std::uint64_t own = s_.own_kv_heads * (std::uint64_t{s_.head_dim} + s_.value_dim);
    const auto [tokens, row] =
        s_.cross ? std::pair{s_.key_tokens(), own} : std::pair{s_.tokens(), s_.query_row() + own};
    Work join{.name = "join gradients", .what = Pointwise{PointwiseKind::transpose, s_.dtype, tokens, row}};
    const std::array<std::uint64_t, 3> strides{query_stride(), key_stride(), value_stride()};
    for (std::size_t i = 0; executed_ && i < 3; ++i) {
        const std::uint64_t columns = i == 2 ? s_.value_dim : s_.head_dim, heads = i == 0 ? s_.heads : s_.kv_heads;
        Detail part{{formed_[i], gradient_of(heads_.views[i])}, copy(columns, true)};
        part.launch.kernel = Pointwise{PointwiseKind::transpose, s_.dtype, s_.tokens(), heads * columns};
        part.launch.settings.heads.shared = i == 0 ? 1 : group_;
        part.launch.settings.row_stride = strides[i];
        i == 0 ? void(join.detail = std::move(part)) : join.detail.also.push_back(std::move(part));
    }
    piece_.backward.push_back(std::move(join));
}

/// Q, K, V; the softmax's output; the dropout's mask and output (Korthikanti et al. 2022, section 4.1). Under autocast
/// the softmax's is fp32, and what weighs the values a copy.
void UnfusedAttention::account() {
    piece_.saved_bytes = s_.qkv_bytes() + s_.scores() * (autocast_ ? 4 : s_.element_bytes);
    if (s_.dropout) piece_.saved_bytes += s_.scores();
    if (s_.dropout || autocast_) piece_.saved_bytes += s_.scores() * s_.element_bytes;
    piece_.working_bytes = 2 * s_.scores() * (autocast_ ? 4 : s_.element_bytes);
}

void UnfusedAttention::shard() && {
    forward();
    backward();
    account();
    stream_.value = context_.value;
}

}  // namespace

void shard_unfused_attention(LayerStream& stream, const AttentionShape& shape, const AttentionHeads& heads,
                             Piece& piece) {
    UnfusedAttention(stream, shape, heads, piece).shard();
}

}  // namespace orrery::strategies
