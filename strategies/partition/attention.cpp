#include "strategies/partition/attention.hpp"

#include <algorithm>

namespace orrery::strategies {

namespace {

using kernels::Dtype;
using kernels::Gemm;
using kernels::Pointwise;
using kernels::PointwiseKind;

struct Shape {
    Dtype dtype;
    std::uint32_t batch, seq, heads, kv_heads, head_dim;
    std::uint64_t element_bytes;
    bool causal, dropout;

    [[nodiscard]] std::uint64_t tokens() const { return std::uint64_t{batch} * seq; }
    [[nodiscard]] std::uint64_t scores() const { return std::uint64_t{batch} * heads * seq * seq; }
    [[nodiscard]] std::uint64_t qkv_bytes() const {
        return tokens() * (heads + 2 * kv_heads) * head_dim * element_bytes;
    }
};

Shape local_shape(const models::AttentionCore& op, const Plan& plan) {
    const auto tensor = plan.strategy.tensor;
    const Dtype dtype = activation_dtype(plan);
    return {dtype,
            plan.training.micro_batch,
            plan.training.seq,
            static_cast<std::uint32_t>(op.heads / tensor),
            static_cast<std::uint32_t>(std::max<std::uint64_t>(1, op.kv_heads / tensor)),
            static_cast<std::uint32_t>(op.head_dim),
            kernels::size_of(dtype),
            op.causal,
            op.dropout};
}

void fused(const Shape& s, Piece& piece) {
    const kernels::Attention forward{s.dtype, false, s.causal, s.batch, s.seq, s.heads, s.kv_heads, s.head_dim};
    kernels::Attention backward = forward;
    backward.backward = true;
    piece.forward.push_back({"attention", forward});
    piece.backward.push_back({"attention backward", backward});
    piece.saved_bytes = s.qkv_bytes() + s.tokens() * s.heads * 4;  // Q, K, V and the row's log-sum-exp in fp32
    piece.working_bytes = s.qkv_bytes();
}

/// As in Megatron-LM's core attention: baddbmm, fused scale-mask-softmax, dropout, bmm, and a copy to [tokens, hidden].
void unfused(const Shape& s, Piece& piece) {
    const std::uint32_t products = s.batch * s.heads;
    const std::uint64_t rows = std::uint64_t{products} * s.seq;
    const auto gemm = [&](std::uint32_t n, std::uint32_t k) { return Gemm{s.dtype, products, s.seq, n, k}; };
    const auto over_scores = [&](PointwiseKind kind) { return Pointwise{kind, s.dtype, rows, s.seq}; };
    const Pointwise context_copy{PointwiseKind::transpose, s.dtype, s.tokens(), std::uint64_t{s.heads} * s.head_dim};

    piece.forward.push_back({"attention scores", gemm(s.seq, s.head_dim)});
    piece.forward.push_back({"softmax", over_scores(PointwiseKind::softmax)});
    if (s.dropout) piece.forward.push_back({"attention dropout", over_scores(PointwiseKind::dropout)});
    piece.forward.push_back({"attention context", gemm(s.head_dim, s.seq)});
    piece.forward.push_back({"context copy", context_copy});

    piece.backward.push_back({"context copy backward", context_copy});
    piece.backward.push_back({"attention context dgrad scores", gemm(s.seq, s.head_dim)});
    piece.backward.push_back({"attention context dgrad values", gemm(s.head_dim, s.seq)});
    if (s.dropout)
        piece.backward.push_back({"attention dropout backward", over_scores(PointwiseKind::dropout_backward)});
    piece.backward.push_back({"softmax backward", over_scores(PointwiseKind::softmax_backward)});
    piece.backward.push_back({"attention scores dgrad queries", gemm(s.head_dim, s.seq)});
    piece.backward.push_back({"attention scores dgrad keys", gemm(s.head_dim, s.seq)});

    // Q, K, V; the softmax's output; the dropout's mask and output (Korthikanti et al. 2022, section 4.1).
    piece.saved_bytes = s.qkv_bytes() + s.scores() * s.element_bytes;
    if (s.dropout) piece.saved_bytes += s.scores() * (1 + s.element_bytes);
    piece.working_bytes = 2 * s.scores() * s.element_bytes;
}

}  // namespace

Piece attention_piece(const models::AttentionCore& op, const Plan& plan) {
    Piece piece{.name = "attention core", .attention_core = true};
    const Shape shape = local_shape(op, plan);
    plan.training.fused_attention ? fused(shape, piece) : unfused(shape, piece);
    piece.input_bytes = shape.qkv_bytes();
    return piece;
}

}  // namespace orrery::strategies
