// What a launch may be told beyond its kernel and its operands. The defaults are what operands.hpp describes, and what
// calibration measures; real training sets them.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "kernels/dropout_mask.hpp"
#include "kernels/operands.hpp"
#include "kernels/step_values.hpp"

namespace orrery::kernels {

/// What unpermute was given, for its backward.
struct Unpermuted {
    const void* x = nullptr;        ///< [rows, cols] in the kernel's dtype
    const float* weight = nullptr;  ///< [rows]
    float* dweight = nullptr;       ///< [rows]: receives the gradient of the weights

    bool operator==(const Unpermuted&) const = default;
};

/// What an activation kernel applies: own is what its name says.
enum class Function : std::uint8_t { own, gelu, silu, relu, squared_relu };

/// Biases that Attention adds to its scaled scores, those of one sequence to all of a batch (T5, Raffel et al. 2020).
struct PositionBias {
    const void* values = nullptr;  ///< [seq, keys, heads] in the kernel's dtype; null: none
    void* gradient = nullptr;      ///< backward: the same extents and dtype; what is formed is added to it

    bool operator==(const PositionBias&) const = default;
};

/// Heads of attention whose products and copies are kernels of their own.
struct HeadMatrices {
    /// Gemm: so many of its products are the heads of one sequence; 0: no heads. Where a_stride or b_stride is given, a
    /// or b lies inside rows of tokens so many elements apart, the columns of a sequence's heads beside each other,
    /// instead of one matrix behind the other.
    std::uint32_t count = 0;
    std::uint64_t a_stride = 0, b_stride = 0;
    /// Gemm: so many heads, one behind the other, read the same columns of b. transpose, joined: so many are summed.
    std::uint32_t shared = 1;
    /// transpose: of a head, 0: it is none of heads; else its rows are tokens of sequences of `tokens` each, its
    /// columns those of heads beside each other, and with H = C / columns heads it is
    ///   joined      x [R / tokens, H, shared, tokens, columns] -> y [R, C], rows row_stride apart, 0: C
    ///   not joined  x [R, C] -> y [R / tokens, H, tokens, columns]
    std::uint64_t columns = 0, tokens = 0;
    bool joined = false;

    bool operator==(const HeadMatrices&) const = default;
};

/// Products of fp8 operands with one scale a tensor, and the casts that make them from the tensor's own largest element
/// (Micikevicius et al. 2022, arXiv:2209.05433; Transformer Engine's Float8CurrentScaling). On GPUs alone.
struct Narrow {
    /// a of a Gemm, and what a transpose writes, are a gradient's: e5m2, and a Gemm adds its sums up in fp32.
    bool gradient = false;
    /// Gemm in fp8: behind c come a_scale and b_scale, [1] fp32: what a's and b's elements are multiplied by.
    bool scaled = false;
    /// sum_of_squares: the largest |x| instead.
    bool largest = false;
    /// transpose: with that number its operands are
    ///   x [R, C] largest [1] fp32 -> y [R, C] and t [C, R] in fp8, scale [1] fp32: x is about scale times y
    bool cast = false;

    bool operator==(const Narrow&) const = default;
};

struct Settings {
    /// Results are added to what is there: c of a Gemm, dw of a convolution, dgamma and dbeta of a norm, db of
    /// bias_gradient, the sum of sum_of_squares.
    bool accumulate = false;
    /// The format of sums that outlive a micro-batch, where it is not the one that operands() says: gradients of
    /// weights in fp32 beside 16-bit activations. c of a Gemm; dw of a convolution; dgamma and dbeta of a norm; db of
    /// bias_gradient; dtable of embedding_backward; a and c of add, which adds b in the kernel's dtype. For cast it
    /// turns the direction: x fp32 -> y in the kernel's dtype, when it is that dtype.
    std::optional<Dtype> result = std::nullopt;
    /// Gemm: [batch, n] in its dtype: every product's row is added to every row of its c.
    const void* bias = nullptr;
    /// Elements from one token to the next in q, k, v, dq, dk and dv of Attention, or in both tensors of rope: heads
    /// inside a packed row of queries, keys and values. 0: contiguous. Rope may then work in place. From one row to the
    /// next in all of log_add_exp.
    std::uint64_t row_stride = 0;
    /// Attention: in k, v, dk and dv, and in dq, where it is not row_stride. 0: row_stride.
    std::uint64_t key_stride = 0, dq_stride = 0;
    /// From one head to the next in lse of Attention, and in part and whole of softmax_merge. 0: as many as there are
    /// queries.
    std::uint64_t lse_stride = 0;
    /// rope, softmax_merge: columns of a head; 0: rope_head(cols).
    std::uint64_t head = 0;
    /// rope: of a head's columns the last so many rotate, by tables of [P, turned / 2], and the others are copied; 0:
    /// all. The keys of latent attention (DeepSeek-V2, arXiv:2405.04434, section 2.1.3) have those columns in common:
    /// with `shared` their operands are
    ///   rope           x [R, C / head (head - turned)] s [R, turned] cos sin -> y [R, C]: every head x's and s rotated
    ///   rope_backward  dy cos sin -> dx ds, summed over heads
    std::uint64_t turned = 0;
    bool shared = false;
    /// Attention: columns of a head's values and results; 0: head_dim.
    std::uint64_t value_dim = 0;
    PositionBias position_bias{};
    /// dropout, bias_dropout_add and their backward passes: the mask that is drawn, of the kernel's elements; none: the
    /// default one. Attention, forward and backward: one of its probabilities [batch, heads, seq, keys], which are
    /// multiplied by mask / (1 - probability) where they weigh values, and nowhere else; none: nothing is dropped.
    std::optional<DropoutMask> dropout = std::nullopt;
    HeadMatrices heads{};
    Narrow narrow{};
    /// softmax: row r holds the scores of query r mod seq of this attention, columns are its keys: those that the query
    /// does not see become 0. Its batch and heads do not matter.
    std::optional<Attention> scores = std::nullopt;
    /// gelu, swiglu and their backward passes: what is applied instead, to x + bias, or to the gate.
    Function function = Function::own;
    /// rope: rows of its tables; 0: min(rows, rope_positions). softmax_merge: rows of one of several sequences, whose
    /// part and whole follow each other; 0: all.
    std::uint64_t positions = 0;
    /// softmax and its backward: none is softmax_scale. scale: none is kernels::scale_factor. cast: y = scale_factor x;
    /// adam: g is scale_factor g; none is 1.
    std::optional<double> scale_factor = std::nullopt;
    /// scale, cast on a GPU: device memory, read as the kernel runs; null: scale_factor says it.
    const float* live_factor = nullptr;
    Adam adam{};
    /// adam, scale on a GPU: what differs from step to step.
    StepUpdate live_update{};
    /// Cross entropy and its parts: columns that stand for a class, the others have probability 0 and no gradient.
    /// A part of a vocabulary may be padding alone.
    std::uint64_t classes = ~std::uint64_t{0};
    /// cross_entropy: leaves dlogits, as cross_entropy_backward makes them, in place of probabilities.
    bool loss_gradient = false;
    /// embedding and its backward: ids outside [0, table_rows) read zeros and add to nothing. 0: every id is inside.
    std::uint64_t table_rows = 0;
    /// moe_gate of given experts, its backward, permute and unpermute: experts that a token is sent to. 0: moe_top_k.
    std::uint64_t top_k = 0;
    /// [rows, top_k]. moe_gate: the experts, which are then not chosen, and its operand `expert` is left alone; the
    /// only expert of a token (top_k 1) weighs its probability, not 1, so that a router learns (Fedus et al. 2022, eq.
    /// 2). softmax_backward: that gate's backward: y are its probabilities, dy [rows, top_k] the gradients of its
    /// weights, dx those of its logits; nothing is scaled.
    const std::int32_t* experts = nullptr;
    /// permute: with x it is unpermute's backward: its own x is the gradient of unpermute's y, row r the gradient of
    /// row r of unpermute's x: weight[u] times what it would be else, u = source[r]; dweight[u] is their product.
    Unpermuted unpermuted{};

    bool operator==(const Settings&) const = default;
};

/// operands(kernel) in the formats that settings.result makes them.
std::vector<Operand> operands(const Kernel& kernel, const Settings& settings);
/// Copies of a token.
inline std::uint64_t top_k_of(const Settings& settings) { return settings.top_k == 0 ? moe_top_k : settings.top_k; }

}  // namespace orrery::kernels
