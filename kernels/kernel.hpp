// The vocabulary of work on one device. The same value names a kernel in a step program, in a
// profile and in a report. No time lives here: only what a kernel must compute and move.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

namespace orrery::kernels {

/// Number formats of operands. tf32 operands occupy four bytes.
enum class Dtype : std::uint8_t { fp32, tf32, fp16, bf16, fp8 };

/// Bytes of one element: 4, 4, 2, 2, 1.
std::uint32_t size_of(Dtype dtype);
std::string_view name(Dtype dtype);
/// Throws Error for an unknown name.
Dtype dtype_from(std::string_view name);

/// Which product of a linear layer a GEMM is: it decides how the operands lie in memory (row-major, BLAS letters of
/// the column-major call in brackets). Activations are [tokens, features] and weights [outputs, inputs], as in PyTorch.
enum class GemmPass : std::uint8_t {
    forward,          ///< A as [m, k], B as [n, k]: both contiguous along k  ("TN")
    data_gradient,    ///< A as [m, k], B as [k, n]  ("NN")
    weight_gradient,  ///< A as [k, m], B as [k, n]  ("NT")
};
std::string_view name(GemmPass pass);
/// Throws Error for an unknown name.
GemmPass gemm_pass_from(std::string_view name);

/// batch independent products C[m,n] = A[m,k] B[k,n]; accumulation in fp32. In a linear layer the
/// forward pass has m tokens, n outputs, k inputs; its data gradient is (m, k, n) and its weight
/// gradient (k, n, m).
struct Gemm {
    Dtype dtype = Dtype::bf16;
    std::uint32_t batch = 1;
    std::uint32_t m = 0, n = 0, k = 0;
    GemmPass pass = GemmPass::forward;
    bool operator==(const Gemm&) const = default;
};

/// Fused (flash) attention core: softmax(Q K^T / sqrt(d)) V with nothing of size seq x seq in memory.
struct Attention {
    Dtype dtype = Dtype::bf16;
    bool backward = false;
    bool causal = true;
    std::uint32_t batch = 0;
    std::uint32_t seq = 0;  ///< queries and keys have the same length
    std::uint32_t heads = 0, kv_heads = 0, head_dim = 0;
    bool operator==(const Attention&) const = default;
};

/// Kernels that memory bandwidth bounds. pointwise.cpp holds, for each, the passes over its elements.
// clang-format off
enum class PointwiseKind : std::uint8_t {
    layernorm, layernorm_backward,
    rmsnorm, rmsnorm_backward,
    softmax, softmax_backward,                    ///< scale and softmax fused
    gelu, gelu_backward,                          ///< bias and GELU fused
    swiglu, swiglu_backward,                      ///< elements counts the outputs; inputs are twice as many
    dropout, dropout_backward,
    bias_dropout_add, bias_dropout_add_backward,  ///< the residual connection
    add,                                          ///< c = a + b
    scale,                                        ///< b = s a
    rope, rope_backward,
    embedding, embedding_backward,                ///< gather of rows; scatter-add of rows
    cross_entropy, cross_entropy_backward,        ///< softmax and loss over the vocabulary, fp32 logits
    cross_entropy_maximum,                        ///< over one rank's part of the vocabulary: each row's largest logit,
    cross_entropy_part,                           ///< exponentials and their sum, the target's logit,
    cross_entropy_part_backward,                  ///< the gradient, with the sum over all ranks
    bias_gradient,                                ///< column sums
    transpose,
    cast,                                         ///< 2-byte to 4-byte or back
    fill,                                         ///< memset
    moe_gate,                                     ///< softmax over the experts (cols), fp32, and choice of two
    permute, unpermute,                           ///< copies of tokens (rows) to their experts and back, weighted
    adam,                                         ///< fp32 master weight, two moments, low-precision copy
    sum_of_squares,                               ///< gradient norm
};
// clang-format on
inline constexpr int pointwise_kinds = static_cast<int>(PointwiseKind::sum_of_squares) + 1;

std::string_view name(PointwiseKind kind);
/// Throws Error for an unknown name.
PointwiseKind pointwise_from(std::string_view name);

/// rows x cols elements; cols is the length over which a row-wise kernel reduces.
struct Pointwise {
    PointwiseKind kind = PointwiseKind::add;
    Dtype dtype = Dtype::bf16;
    std::uint64_t rows = 0, cols = 0;
    bool operator==(const Pointwise&) const = default;
};

using Kernel = std::variant<Gemm, Attention, Pointwise>;

/// Floating-point operations, a multiply-add counting as two; causal attention counts the lower triangle
/// (half of seq^2), backward attention 2.5 times the forward (five products instead of two, as
/// FlashAttention-2, section 4.1). Pointwise kernels count zero: their time is bytes.
double flops(const Kernel& kernel);

/// Bytes that must cross the device's memory when every operand is read once and every result written once.
double bytes(const Kernel& kernel);

/// flops / bytes.
double intensity(const Kernel& kernel);

/// "gemm bf16 1x2048x6144x12288", "gemm bf16 1x2048x12288x6144 data-gradient",
/// "attention-backward bf16 b1 s2048 h12 kv12 d128 causal",
/// "layernorm bf16 2048x12288": unique per value, the key of golden files and reports.
std::string to_text(const Kernel& kernel);

}  // namespace orrery::kernels
