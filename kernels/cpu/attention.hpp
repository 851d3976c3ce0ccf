// Fused attention on the CPU, as FlashAttention does it: blocks of scores that stay in a cache, products by oneDNN.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "kernels/cpu/masks.hpp"
#include "kernels/cpu/pointwise.hpp"
#include "kernels/kernel.hpp"

namespace orrery::kernels::cpu {

/// Forward and backward, fp32, bf16 or fp16, laid out as operands.hpp says, on the OpenMP threads of the calling
/// thread. Threads share the blocks of queries (forward) or the key-value heads (backward, and all of 16 bits).
void run_attention(const Attention& a, const Memory& memory);
/// That of bf16 and fp16.
void run_half_attention(const Attention& a, const Memory& memory);

/// A block of scores: queries from first_query on, keys from first_key on; row i of it begins at i * stride.
struct ScoreBlock {
    float* scores;
    std::size_t stride, queries, keys, first_query, first_key;
    const Attention* attention;
    /// Keys of the block that its row i sees: from begin(i) to before end(i), none where end is not beyond begin.
    [[nodiscard]] std::size_t begin(std::size_t i) const {
        const std::size_t first = attention->first_key(first_query + i);
        return first <= first_key ? 0 : std::min(first - first_key, keys);
    }
    [[nodiscard]] std::size_t end(std::size_t i) const {
        const std::size_t last = attention->end_key(first_query + i);
        return last <= first_key ? 0 : std::min(last - first_key, keys);
    }
    /// Whether the block holds the first key that its row i sees.
    [[nodiscard]] bool begins(std::size_t i) const { return attention->first_key(first_query + i) >= first_key; }
};

/// Biases of one head's scores, among those of all heads.
struct Biases {
    const float* values;  ///< [queries, keys, heads]; null: none
    std::size_t heads, head;
    [[nodiscard]] std::size_t at(const ScoreBlock& block, std::size_t i, std::size_t j) const {
        return ((block.first_query + i) * block.attention->keys() + block.first_key + j) * heads + head;
    }
};
void add_biases(const ScoreBlock& block, const Biases& biases);
/// gradients: of scores. to: as the biases.
void bias_gradients(const ScoreBlock& block, const float* gradients, const Biases& biases, float* to);

/// The dropout of probabilities. head: batch heads + head, whose first element is number head seq keys.
class Dropped {
public:
    explicit Dropped(const Settings& settings);
    [[nodiscard]] bool any() const { return numbers_.has_value(); }
    /// What a block's elements are multiplied by, laid out as its scores; where a row sees no key, anything.
    void draw(const ScoreBlock& block, std::size_t head, float* factors) const;

private:
    std::optional<MaskNumbers> numbers_;
};
/// values: as the block's scores, and so are the factors.
void drop(const ScoreBlock& block, const float* factors, float* values);

/// Where the gradients of position biases are summed, one array for each sequence, since threads share these.
class BiasGradients {
public:
    BiasGradients(const Attention& a, const Settings& settings);
    /// [seq, keys, heads] of one sequence; null: there are no biases.
    [[nodiscard]] float* of(std::size_t batch);
    /// Adds them to what Settings::position_bias says.
    void finish() const;

private:
    void* to_;
    Format format_;
    std::size_t elements_ = 0;
    std::vector<float> sums_;
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
