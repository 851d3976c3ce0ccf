// Matrices in double precision that know how to differentiate themselves.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

namespace orrery::run {

struct Matrix {
    std::size_t rows = 0, cols = 0;
    std::vector<double> value, gradient;
    Matrix(std::size_t r, std::size_t c) : rows(r), cols(c), value(r * c), gradient(r * c) {}
    [[nodiscard]] double at(std::size_t r, std::size_t c) const { return value[r * cols + c]; }
};
using M = std::shared_ptr<Matrix>;

/// Remembers every operation; backward() runs them in reverse.
class Tape {
public:
    M product(const M& x, const M& weight);  ///< x W^T, W [outputs, inputs]
    M plus(const M& a, const M& b);
    M plus_row(const M& x, const M& row);
    M layernorm(const M& x, const M& gamma, const M& beta);
    M rmsnorm(const M& x, const M& gamma);
    M gelu(const M& x);
    M swiglu(const M& x);
    M rows_of(const M& table, const std::vector<std::int32_t>& ids);
    M first_rows(const M& table, std::size_t count);
    /// Part `index` of `parts` equal runs of rows.
    M part_of(const M& x, std::size_t index, std::size_t parts);
    /// The rows of a, then those of b.
    M below(const M& a, const M& b);
    M softmax(const M& x);
    /// x times the probability of `own` over the sum of those of the chosen; of a single one times the probability.
    M weighed(const M& x, const M& probabilities, std::size_t own, const std::vector<std::size_t>& chosen);
    /// Rotates the first `heads` heads of every row, whose number is its position.
    M rope(const M& x, std::size_t heads, std::size_t head_dim);
    /// x holds queries, keys and values side by side.
    M attention(const M& x, std::size_t heads, std::size_t kv_heads, std::size_t head_dim, bool causal,
                std::size_t window = 0);
    /// Mean over the rows, of the first `classes` columns.
    M cross_entropy(const M& logits, const std::vector<std::int32_t>& targets, std::size_t classes);

    /// gradient: of the last result, a single number.
    void backward(const M& loss, double gradient);

private:
    M norm(const M& x, const M& gamma, const M& beta);
    std::vector<std::function<void()>> backward_;
};

}  // namespace orrery::run
