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

/// A function of one number and its derivative.
struct Curve {
    double (*value)(double);
    double (*slope)(double);
};
/// GELU is its approximation by tanh.
extern const Curve gelu, silu, relu, squared_relu;

/// Of attention. window: so many keys, the query's own included; 0: all.
struct Heads {
    std::size_t heads = 1, kv_heads = 1;
    bool causal = true;
    std::size_t window = 0;
    std::size_t document = 0;  ///< each run of so many tokens sees itself alone; 0: all do
    /// Added to the score of query i and key j: an element of row bucket(j - i); null: nothing is. [buckets, heads]
    M bias = nullptr;
    std::function<std::size_t(std::ptrdiff_t)> bucket = nullptr;
    /// What the probability of a head, query and key is multiplied by where it weighs values; null: 1.
    std::function<double(std::size_t head, std::size_t query, std::size_t key)> factor = nullptr;
};

/// Square windows that move over square images.
struct Windows {
    std::size_t size;  ///< rows of an image
    std::size_t kernel = 1, stride = 1, padding = 0;
};

/// Remembers every operation; backward() runs them in reverse.
class Tape {
public:
    M product(const M& x, const M& weight);  ///< x W^T, W [outputs, inputs]
    M plus(const M& a, const M& b);
    M plus_row(const M& x, const M& row);
    M times(const M& x, const std::vector<double>& factors);  ///< element by element
    M layernorm(const M& x, const M& gamma, const M& beta);
    M rmsnorm(const M& x, const M& gamma);
    M applied(const M& x, const Curve& f);
    M gated(const M& x, const Curve& f);  ///< of the first half of the columns, times the other
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
    /// Columns [first, first + count).
    M columns(const M& x, std::size_t first, std::size_t count);
    /// The columns of a, then those of b.
    M beside(const M& a, const M& b);
    /// The same elements in rows of `cols`.
    M in_rows_of(const M& x, std::size_t cols);
    /// Queries [n, heads d], keys [m, kv_heads d], values [m, kv_heads v] -> [n, heads v].
    M attention(const M& queries, const M& keys, const M& values, const Heads& heads);
    /// Images [images rows columns, channels], weights [outputs, window channels].
    M convolution(const M& x, const M& weights, const Windows& windows);
    M batch_norm(const M& x, const M& gamma, const M& beta);  ///< of each column over all rows
    M largest(const M& x, const Windows& windows);
    M mean_of(const M& x, std::size_t rows);  ///< of each run of so many rows
    /// Mean over the rows, of the first `classes` columns.
    M cross_entropy(const M& logits, const std::vector<std::int32_t>& targets, std::size_t classes);

    /// gradient: of the last result, a single number.
    void backward(const M& loss, double gradient);

private:
    M norm(const M& x, const M& gamma, const M& beta);
    std::vector<std::function<void()>> backward_;
};

}  // namespace orrery::run
