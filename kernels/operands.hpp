// What lies in memory when a kernel runs: its operands, and the exact mathematics every device computes on them.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "kernels/kernel.hpp"
#include "kernels/number_format.hpp"

namespace orrery::kernels {

/// An `in` operand is left as it was; an `out` operand is written everywhere; an `in_out` one is updated in place.
enum class Role : std::uint8_t { in, out, in_out };

/// How an operand is filled for a test or a measurement.
enum class Fill : std::uint8_t {
    normal,       ///< standard normal
    positive,     ///< magnitudes of a standard normal
    probability,  ///< exponentially distributed, mean 1 / bound: like rows of a softmax over `bound` classes
    index,        ///< whole numbers in [0, bound), uniform
    permutation,  ///< every whole number in [0, elements) once
    keep,         ///< bytes, 1 with probability keep_probability and else 0
    forward,      ///< what forward_of(kernel) writes to its operand of this name, given the same inputs
    poison,       ///< all bits set: not a number in every format, -1 in int32
};

struct Operand {
    std::string_view name;
    Format format = Format::fp32;
    std::uint64_t elements = 0;
    Role role = Role::in;
    Fill fill = Fill::normal;
    std::uint64_t bound = 0;  ///< of Fill::index and Fill::probability
    [[nodiscard]] std::uint64_t bytes() const { return elements * size_of(format); }
};

/// The operands of a kernel, in the order in which Device::launch takes them. Throws Error for a shape that no device
/// can run (a zero extent, heads that kv_heads do not divide, an odd width for rope, ...).
///
/// All tensors are row-major and contiguous; D is the kernel's dtype, R its rows, C its cols; r and c index them.
/// Arithmetic is fp32 or better and each result is rounded once, when it is written.
///
/// Gemm: a [batch, ...], b [batch, ...] in D, laid out as GemmPass says; c [batch, m, n] in D (fp8: bf16; tf32: fp32).
///
/// Attention, s = 1/sqrt(head_dim), query head h reading key head h / (heads / kv_heads), of the keys that query i sees
/// (Attention::first_key, end_key):
///   forward   q [batch, seq, heads, head_dim], k, v [batch, keys, kv_heads, head_dim] -> o as q,
///             lse [batch, heads, seq] fp32 = ln sum_j exp(s q_i k_j), natural logarithm, of the scaled scores
///   backward  q k v o lse do(as q) -> dq dk dv.  With p = exp(s q k - lse), d_i = sum(do_i o_i):
///             dv = p^T do, ds = p (do v^T - d), dq = s ds k, dk = s ds^T q; dk and dv sum over their query heads
///
/// Convolution, images, weights and results laid out as kernel.hpp says; a result is the sum over the window of image
/// (0 outside it) times weight, in each group of channels:
///   forward          x w -> y
///   data_gradient    dy w -> dx
///   weight_gradient  x dy -> dw
///
/// Pooling:   x -> y;  backward of an average: dy -> dx; of a maximum: x dy -> dx, to the first of equal ones in the
/// order of rows, then columns. Every window holds a pixel of the image.
///
/// BatchNorm [R, C]: x gamma[C] fp32 beta[C] fp32 -> y mean[C] fp32 rstd[C] fp32, rstd = 1/sqrt(variance +
/// norm_epsilon) (biased, over the rows), y = (x - mean) rstd gamma + beta
///   backward: x gamma dy mean rstd -> dx dgamma[C] fp32 dbeta[C] fp32;  h = (x - mean) rstd:
///   dgamma = sum_r dy h, dbeta = sum_r dy, dx = gamma rstd (dy - dbeta/R - h dgamma/R)
///
/// Pointwise [R, C]; operands in D where nothing else is said:
///   layernorm           x gamma[C] beta[C] -> y mean[R] fp32 rstd[R] fp32
///                       rstd = 1/sqrt(variance + norm_epsilon) (biased), y = (x - mean) rstd gamma + beta
///   layernorm_backward  x gamma dy mean rstd -> dx dgamma[C] fp32 dbeta[C] fp32;  h = (x - mean) rstd, g = dy gamma:
///                       dx = rstd (g - mean_c(g) - h mean_c(g h)), dgamma = sum_r dy h, dbeta = sum_r dy
///   rmsnorm             x gamma -> y rstd;  rstd = 1/sqrt(mean_c(x^2) + norm_epsilon), y = x rstd gamma
///   rmsnorm_backward    x gamma dy rstd -> dx dgamma fp32;  as layernorm's with mean 0 and without mean_c(g)
///   softmax             x -> y = softmax_c(softmax_scale x)
///   softmax_backward    y dy -> dx = softmax_scale y (dy - sum_c(y dy))
///   log_add_exp         a b -> c = ln(e^a + e^b), all fp32
///   softmax_merge       x part whole -> y (in_out): y += e^(part - whole) x.  Heads of H = rope_head(C) columns; part,
///                       whole fp32 [C/H, R]: the lse of one sequence of R queries
///   gelu                x bias[C] -> y = G(x + bias), G(t) = t/2 (1 + tanh(sqrt(2/pi) (t + 0.044715 t^3)))
///   gelu_backward       x bias dy -> dx = dy G'(x + bias)
///   swiglu              x [R, 2C], the gate in the first C columns, the linear part behind it -> y = silu(gate) linear
///   swiglu_backward     x [R, 2C] dy -> dx [R, 2C]
///   relu                x -> y = max(x, 0)
///   relu_backward       y dy -> dx = [y > 0] dy
///   dropout             x -> mask y, in the order x mask y: mask of bytes, 1 for what stays: MaskNumbers::keeps() of
///                       DropoutMask{} and the element's number; y = mask x / keep_probability
///   dropout_backward    dy mask -> dx = mask dy / keep_probability
///   bias_dropout_add    x bias[C] residual -> mask y, mask drawn likewise, y = residual + mask (x + bias) /
///                       keep_probability
///   bias_dropout_add_backward  dy mask -> dx, as dropout's
///   add                 a b -> c = a + b
///   scale               a -> b = scale_factor a
///   rope                x cos sin -> y.  Heads of H = rope_head(C) columns; cos, sin [P, H/2] fp32 with P =
///                       min(R, rope_positions); row r reads table row r mod P. Pairs (2i, 2i + 1) of a head rotate:
///                       y0 = x0 cos_i - x1 sin_i, y1 = x0 sin_i + x1 cos_i.   C is even
///   rope_backward       dy cos sin -> dx, the transposed map
///   embedding           ids[R] int32 table [R, C] -> y, row r = row ids[r] of the table (it has R rows as well)
///   embedding_backward  ids dy -> dtable [R, C] in_out: row ids[r] gains row r of dy
///   cross_entropy       logits target[R] int32 -> probabilities loss[R] fp32 = logsumexp_c(logits) - logits[target]
///   cross_entropy_backward  probabilities target -> dlogits = (probabilities - [c = target]) / R
///   cross_entropy_maximum       logits -> maximum[R] fp32
///   cross_entropy_part          logits maximum[R] fp32 target[R] int32 -> exponentials sum[R] fp32 picked[R] fp32:
///                       exponentials = exp(logits - maximum), their sum_c, and logits[target]; a target outside
///                       [0, C) belongs to another rank and picks 0
///   cross_entropy_part_backward exponentials sum[R] fp32 target -> dlogits = (exponentials / sum - [c = target]) / R
///   bias_gradient       dy -> db[C] = sum_r dy
///   transpose           x [R, C] -> y [C, R]
///   cast                x -> y fp32
///   fill                -> x = 0
///   moe_gate            logits fp32 (whatever D), C experts >= moe_top_k -> probabilities fp32 = softmax_c(logits),
///                       expert [R, moe_top_k] int32: of the largest logits, falling (of equals the lower first),
///                       weight [R, moe_top_k] fp32: their probabilities divided by the sum of these
///   permute             R = moe_top_k tokens rows: x [R/moe_top_k, C] source[R] int32 -> y, row r = row
///                       source[r]/moe_top_k of x
///   unpermute           x [R, C] position[R] int32 weight[R] fp32 -> y [R/moe_top_k, C], row t = sum over j of
///                       weight[u] row position[u] of x, u = t moe_top_k + j
///   adam                g w m v (fp32; w m v in_out) -> copy (D);  m = b1 m + (1-b1) g, v = b2 v + (1-b2) g^2,
///                       w -= rate (m' / (sqrt(v') + epsilon) + decay w), m' = m/(1-b1^t), v' = v/(1-b2^t), copy = w
///   sum_of_squares      x -> sum[1] fp32
std::vector<Operand> operands(const Kernel& kernel);

/// The sum of the operands' bytes: the device memory that a launch needs.
std::uint64_t footprint(const Kernel& kernel);

/// The kernel whose outputs fill the operands of Fill::forward; none for a kernel that has no such operand.
std::optional<Kernel> forward_of(const Kernel& kernel);

/// PyTorch's default for LayerNorm; Llama's for RMSNorm.
inline constexpr double norm_epsilon = 1e-5;
/// 1/sqrt(64), a common head's scaling of scores.
inline constexpr double softmax_scale = 0.125;
/// GPT-3's and Megatron's dropout of 0.1, as DropoutMask has it.
inline constexpr double keep_probability = 0.9;
inline constexpr double scale_factor = 0.5;
/// Positions of rope's tables: a common length of sequence.
inline constexpr std::uint64_t rope_positions = 2048;
/// Experts a token is sent to (GShard, Mixtral).
inline constexpr std::uint64_t moe_top_k = 2;

/// Columns of a head that rope rotates with one set of frequencies: the largest power of two up to 128 that divides
/// cols (128 is the head of Llama and of GPT-3).
std::uint64_t rope_head(std::uint64_t cols);

/// AdamW with the settings of GPT-3 (appendix B), at a step where the bias correction matters.
struct Adam {
    double rate = 6e-5, b1 = 0.9, b2 = 0.95, epsilon = 1e-8, decay = 0.1;
    int step = 10;  ///< t
    bool operator==(const Adam&) const = default;
};
inline constexpr Adam adam_settings{};

}  // namespace orrery::kernels
