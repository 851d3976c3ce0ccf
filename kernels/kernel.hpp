// The vocabulary of work on one device. The same value names a kernel in a step program, in a
// profile and in a report. No time lives here: only what a kernel must compute and move.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>
#include <variant>

namespace orrery::kernels {

/// Number formats of operands. tf32 operands occupy four bytes. fp4 is NVFP4 (Alvarez et al. 2025, arXiv:2509.25149):
/// e2m1, two in a byte, and a scale in e4m3 for each 16.
enum class Dtype : std::uint8_t { fp32, tf32, fp16, bf16, fp8, fp4 };
constexpr bool is_half(Dtype dtype) { return dtype == Dtype::fp16 || dtype == Dtype::bf16; }
/// Formats whose operands are cast from 16 bits before each product, which is written in 16 bits again.
constexpr bool is_narrow(Dtype dtype) { return dtype == Dtype::fp8 || dtype == Dtype::fp4; }

/// Bytes of one element where it lies by itself: 4, 4, 2, 2, 1, 1. What fp4 operands of a product take, bytes() knows.
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
    /// Multiprocessors that it leaves to a collective beside it (cuBLASLt, CUBLASLT_MATMUL_DESC_SM_COUNT_TARGET);
    /// priced, not executed.
    std::uint32_t spared = 0;
    bool operator==(const Gemm&) const = default;
};

/// Elements in a row, as it lies in memory, of A, B and C.
constexpr std::array<std::uint32_t, 3> row_elements(const Gemm& gemm) {
    switch (gemm.pass) {
        case GemmPass::forward: return {gemm.k, gemm.k, gemm.n};
        case GemmPass::data_gradient: return {gemm.k, gemm.n, gemm.n};
        case GemmPass::weight_gradient: break;
    }
    return {gemm.m, gemm.n, gemm.n};
}

/// Fused (flash) attention core: softmax(Q K^T / sqrt(d)) V with nothing of size seq x keys in memory.
/// Query i stands at position i + keys() - seq: the last query beside the last key, as FlashAttention aligns them. It
/// sees keys at no later position if causal, and with a window those less than `window` positions away.
struct Attention {
    Dtype dtype = Dtype::bf16;
    bool backward = false;
    bool causal = true;
    std::uint32_t batch = 0;
    std::uint32_t seq = 0;  ///< queries
    std::uint32_t heads = 0, kv_heads = 0, head_dim = 0;
    std::uint32_t key_seq = 0;  ///< keys and values; 0: as many as queries. Causal or in a window: no fewer
    std::uint32_t window = 0;   ///< 0: none
    /// Probabilities are dropped by a mask that it draws (Settings::dropout says which): what that takes is its own.
    bool dropout = false;

    [[nodiscard]] constexpr std::uint32_t keys() const { return key_seq == 0 ? seq : key_seq; }
    /// As many keys as queries, seen without a window.
    [[nodiscard]] constexpr bool plain() const { return keys() == seq && window == 0; }
    /// Query i sees keys first_key(i) up to, not including, end_key(i).
    [[nodiscard]] constexpr std::uint64_t first_key(std::uint64_t i) const {
        const std::uint64_t reach = i + keys() - seq + 1;
        return window == 0 || reach < window ? 0 : reach - window;
    }
    [[nodiscard]] constexpr std::uint64_t end_key(std::uint64_t i) const {
        if (causal) return i + keys() - seq + 1;
        return window == 0 ? keys() : std::min<std::uint64_t>(keys(), i + keys() - seq + window);
    }
    /// Queries and keys that see each other, counted; in a causal one the key at a query's own position as a half, so
    /// that seq queries of seq keys have seq^2 / 2.
    [[nodiscard]] double pairs() const;

    constexpr bool operator==(const Attention& other) const {
        const auto all = [](const Attention& a) {
            return std::tuple(a.dtype, a.backward, a.causal, a.batch, a.seq, a.heads, a.kv_heads, a.head_dim, a.keys(),
                              a.window, a.dropout);
        };
        return all(*this) == all(other);
    }
};

/// A two-dimensional convolution (cross-correlation, as frameworks have it) of a batch of images. Channels lie last:
/// images [batch, rows, columns, channels], weights [outputs, kernel_rows, kernel_columns, channels / groups].
/// Padding with zeros, stride and dilation are those of both directions.
struct Convolution {
    Dtype dtype = Dtype::bf16;
    GemmPass pass = GemmPass::forward;  ///< data gradient: the image's; weight gradient: the weights'
    std::uint32_t batch = 0;
    std::uint32_t channels = 0, rows = 0, columns = 0;  ///< of an image
    std::uint32_t outputs = 0;                          ///< channels of a result
    std::uint32_t kernel_rows = 1, kernel_columns = 1;
    std::uint32_t stride = 1, padding = 0, dilation = 1, groups = 1;

    [[nodiscard]] constexpr std::uint32_t output_rows() const { return extent(rows, kernel_rows); }
    [[nodiscard]] constexpr std::uint32_t output_columns() const { return extent(columns, kernel_columns); }
    /// Elements of all images, of all results and of the weights.
    [[nodiscard]] constexpr std::uint64_t input_elements() const {
        return std::uint64_t{batch} * rows * columns * channels;
    }
    [[nodiscard]] constexpr std::uint64_t output_elements() const {
        return std::uint64_t{batch} * output_rows() * output_columns() * outputs;
    }
    [[nodiscard]] constexpr std::uint64_t weights() const {
        return std::uint64_t{outputs} * kernel_rows * kernel_columns * (channels / groups);
    }
    bool operator==(const Convolution&) const = default;

private:
    [[nodiscard]] constexpr std::uint32_t extent(std::uint32_t image, std::uint32_t kernel) const {
        const std::uint64_t padded = std::uint64_t{image} + 2ULL * padding, reach = dilation * (kernel - 1ULL) + 1;
        return padded < reach ? 0 : static_cast<std::uint32_t>((padded - reach) / stride + 1);
    }
};

enum class PoolingKind : std::uint8_t {
    maximum,
    average,  ///< over the whole window, padding (zeros) included: PyTorch's default
};

/// The largest or the mean value in each window of each channel; over the whole image, a global one. Layout as
/// Convolution's.
struct Pooling {
    PoolingKind kind = PoolingKind::maximum;
    Dtype dtype = Dtype::bf16;
    bool backward = false;
    std::uint32_t batch = 0, channels = 0, rows = 0, columns = 0;
    std::uint32_t window_rows = 1, window_columns = 1;
    std::uint32_t stride = 1, padding = 0;

    [[nodiscard]] constexpr std::uint32_t output_rows() const { return extent(rows, window_rows); }
    [[nodiscard]] constexpr std::uint32_t output_columns() const { return extent(columns, window_columns); }
    [[nodiscard]] constexpr std::uint64_t input_elements() const {
        return std::uint64_t{batch} * rows * columns * channels;
    }
    [[nodiscard]] constexpr std::uint64_t output_elements() const {
        return std::uint64_t{batch} * output_rows() * output_columns() * channels;
    }
    bool operator==(const Pooling&) const = default;

private:
    [[nodiscard]] constexpr std::uint32_t extent(std::uint32_t image, std::uint32_t reach) const {
        const std::uint64_t padded = std::uint64_t{image} + 2ULL * padding;
        return padded < reach ? 0 : static_cast<std::uint32_t>((padded - reach) / stride + 1);
    }
};

/// Batch norm in training: statistics of each channel (column) over all images and their pixels (rows).
struct BatchNorm {
    Dtype dtype = Dtype::bf16;
    bool backward = false;
    std::uint64_t rows = 0, channels = 0;
    bool operator==(const BatchNorm&) const = default;
};

/// The kernels of Mamba-2's scan over one sequence cut into chunks (Dao and Gu 2024, arXiv:2405.21060, section 6), and
/// of the convolution before it, as the authors' library launches them (mamba_ssm, ops/triton/ssd_combined.py,
/// mamba_split_conv1d_scan_combined). state_space.cpp holds what each computes and moves.
// clang-format off
enum class StateSpaceKind : std::uint8_t {
    convolution, convolution_backward,      ///< of each channel over the last tokens, with SiLU
    decay, decay_backward,                  ///< sums of each head's decay within chunks
    chunk_product,                          ///< C B^T of each group within chunks
    chunk_states,                           ///< what each chunk adds to the states
    state_passing, state_passing_backward,  ///< from chunk to chunk
    chunk_scan,                             ///< results: of the chunk's own tokens and of the states before it, gated
    gate_gradient,                          ///< backward: of the gate and of what it weighs,
    state_gradient,                         ///< of the states before each chunk,
    input_gradient,                         ///< of what is scanned,
    b_gradient, c_gradient,                 ///< of what writes and reads states, through states,
    product_gradient,                       ///< of C B^T,
    product_backward,                       ///< through it of B or of C,
    decay_gradient,                         ///< of the decay within chunks
};
// clang-format on
inline constexpr int state_space_kinds = static_cast<int>(StateSpaceKind::decay_gradient) + 1;

std::string_view name(StateSpaceKind kind);
/// Throws Error for an unknown name.
StateSpaceKind state_space_from(std::string_view name);

struct StateSpace {
    StateSpaceKind kind = StateSpaceKind::chunk_scan;
    Dtype dtype = Dtype::bf16;
    std::uint32_t batch = 0, seq = 0;
    std::uint32_t heads = 0, head_dim = 0;
    std::uint32_t groups = 0;  ///< of heads, which share B and C
    std::uint32_t state = 0;
    std::uint32_t chunk = 0;  ///< tokens; of a convolution the tokens that it sees
    bool operator==(const StateSpace&) const = default;
};

/// Kernels that memory bandwidth bounds. pointwise.cpp holds, for each, the passes over its elements.
// clang-format off
enum class PointwiseKind : std::uint8_t {
    layernorm, layernorm_backward,
    rmsnorm, rmsnorm_backward,
    softmax, softmax_backward,                    ///< scale and softmax fused
    log_add_exp, softmax_merge,                   ///< sums of exponentials over two parts of the keys; a part's result
                                                  ///< into that over all
    gelu, gelu_backward,                          ///< bias and GELU fused
    swiglu, swiglu_backward,                      ///< elements counts the outputs; inputs are twice as many
    relu, relu_backward,
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

/// Whoever asks which of them a kernel is names each of them (base/overloaded.hpp without a generic function): a kind
/// that is added and that somebody does not price, run or describe is an error of the compiler.
using Kernel = std::variant<Gemm, Attention, Pointwise, Convolution, Pooling, BatchNorm, StateSpace>;

/// Of its operands.
Dtype dtype_of(const Kernel& kernel);
/// The same kernel in another format.
Kernel with_dtype(Kernel kernel, Dtype dtype);

/// Floating-point operations, a multiply-add counting as two; attention counts pairs(), backward attention 2.5 times
/// the forward (five products instead of two, as FlashAttention-2, section 4.1); a convolution counts every product of
/// a weight, padding included; a scan within chunks the pairs of a token and those before it. Pointwise kernels,
/// pooling and batch norms count zero: their time is bytes.
double flops(const Kernel& kernel);
/// The same of a product, where no Kernel is at hand.
constexpr double flops(const Gemm& g) { return 2.0 * g.batch * g.m * static_cast<double>(g.n) * g.k; }

/// Bytes that must cross the device's memory when every operand is read once and every result written once. A batch
/// norm reads twice what its statistics are taken of: they are complete only when all of it was read.
double bytes(const Kernel& kernel);

/// flops / bytes.
double intensity(const Kernel& kernel);

/// "gemm bf16 1x2048x6144x12288", "gemm bf16 1x2048x12288x6144 data-gradient",
/// "attention-backward bf16 b1 s2048 h12 kv12 d128 causal",
/// "attention bf16 b1 s512 k2048 h12 kv12 d128 window 1024",
/// "convolution bf16 n32 64x56x56 -> 256 1x1", "convolution ... 64x56x56 -> 64 3x3 stride 2 pad 1 data-gradient",
/// "maximum-pooling bf16 n32 64x112x112 3x3 stride 2 pad 1", "batch-norm bf16 100352x64",
/// "chunk-scan bf16 b1 s8192 h32 d64 g1 n256 chunk 128", "layernorm bf16 2048x12288": unique per value, the key of
/// golden files and reports.
std::string to_text(const Kernel& kernel);

}  // namespace orrery::kernels
