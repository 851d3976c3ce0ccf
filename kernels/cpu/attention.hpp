// Fused attention on the CPU, as FlashAttention does it: blocks of scores that stay in a cache, products by oneDNN.
#pragma once

#include <cstddef>

#include "kernels/cpu/pointwise.hpp"
#include "kernels/kernel.hpp"

namespace orrery::kernels::cpu {

/// Forward and backward, fp32 or bf16, laid out as operands.hpp says, on the OpenMP threads of the calling thread.
/// Threads share the blocks of queries (forward) or the key-value heads (backward, and all of bf16).
void run_attention(const Attention& a, const Memory& memory);
/// That of bf16.
void run_half_attention(const Attention& a, const Memory& memory);

/// A block of scores: queries from first_query on, keys from first_key on; row i of it begins at i * stride.
struct ScoreBlock {
    float* scores;
    std::size_t stride, queries, keys, first_query, first_key;
    bool causal;
    /// Keys of the block that its row i sees.
    [[nodiscard]] std::size_t visible(std::size_t i) const {
        const std::size_t reach = first_query + i + 1;  // keys a causal query sees in all
        return !causal || reach >= first_key + keys ? keys : reach > first_key ? reach - first_key : 0;
    }
};

/// Online softmax: turns scores into exp(score - new largest), and updates each row's largest score, sum of
/// exponentials and row of o (stride o_stride, head_dim long), which are scaled by exp(old largest - new largest).
void absorb(const ScoreBlock& block, float* largest, float* total, float* o, std::size_t o_stride,
            std::size_t head_dim);

/// Divides rows of o by their sums and writes the logarithms of the sums of exponentials.
void finish_rows(std::size_t queries, const float* largest, const float* total, float* o, std::size_t o_stride,
                 std::size_t head_dim, float* lse);

/// scores become probabilities exp(score - lse); gradients (of probabilities) become p (gradient - delta), those of
/// the scores.
void score_gradients(const ScoreBlock& block, float* gradients, const float* lse, const float* delta);

/// delta[i] = do_i o_i for rows `stride` apart.
void row_products(const float* one, const float* two, std::size_t stride, std::size_t rows, std::size_t head_dim,
                  float* delta);

}  // namespace orrery::kernels::cpu
