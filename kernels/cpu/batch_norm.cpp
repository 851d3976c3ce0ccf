// Batch norm: sums over all rows of each column first, by parts of the rows, then one map.
#include <cmath>
#include <vector>

#include "kernels/cpu/clones.hpp"
#include "kernels/cpu/half.hpp"
#include "kernels/cpu/image.hpp"
#include "kernels/cpu/parallel.hpp"

namespace orrery::kernels::cpu {

namespace {

/// Rows that are unpacked at once and whose sums are put together once.
constexpr std::uint64_t block_rows = 32;

ORRERY_CLONED void add_products(const float* __restrict x, const float* __restrict centre, const float* __restrict y,
                                float* __restrict plain, float* __restrict products, std::size_t rows,
                                std::size_t cols) {
    for (std::size_t r = 0; r < rows; ++r)
        for (std::size_t c = 0; c < cols; ++c) {
            const float from = x[r * cols + c] - centre[c], with = y == nullptr ? from : y[r * cols + c];
            plain[c] += y == nullptr ? from : with;
            products[c] += from * with;
        }
}

/// to = factor x + slope y + offset, by column; y may be x.
ORRERY_CLONED void combine(const float* x, const float* factor, const float* y, const float* slope, const float* offset,
                           float* to, std::size_t rows, std::size_t cols) {
    for (std::size_t r = 0; r < rows; ++r)
        for (std::size_t c = 0; c < cols; ++c)
            to[r * cols + c] = factor[c] * x[r * cols + c] + slope[c] * y[r * cols + c] + offset[c];
}

/// Two sums of every column.
struct Sums {
    std::vector<float> plain, products;
};

class Columns {
public:
    Columns(const BatchNorm& b, const Memory& memory) : b_(b), memory_(memory), format_(format_of(b.dtype)) {}

    /// Sums over the rows of x - centre and its square; or, with a second operand y, of y and (x - centre) y. Parts of
    /// a column are added as doubles: a column is as long as all pixels of a batch.
    [[nodiscard]] Sums sums(const float* centre, int y) const {
        const std::size_t cols = b_.channels;
        const int parts = parts_of(b_.rows, least_elements / cols + 1);
        std::vector<double> plain(static_cast<std::size_t>(parts) * cols), products(plain.size());
        split(b_.rows, parts, 1, [&](int part, std::uint64_t begin, std::uint64_t end) {
            std::vector<float> first(block_rows * cols), second(y < 0 ? 0 : first.size());
            std::vector<float> one(cols), two(cols);
            double *const to = plain.data() + static_cast<std::size_t>(part) * cols, *const too =
                                                                                         products.data() +
                                                                                         static_cast<std::size_t>(
                                                                                             part) *
                                                                                             cols;
            for (std::uint64_t r = begin; r < end; r += block_rows) {
                const std::uint64_t rows = std::min(block_rows, end - r);
                std::fill(one.begin(), one.end(), 0.0f);
                std::fill(two.begin(), two.end(), 0.0f);
                const float* const x = at(0, r, rows, first);
                add_products(x, centre, y < 0 ? nullptr : at(static_cast<std::size_t>(y), r, rows, second), one.data(),
                             two.data(), rows, cols);
                for (std::size_t c = 0; c < cols; ++c) to[c] += one[c], too[c] += two[c];
            }
        });
        return {total(plain), total(products)};
    }

    /// Operand `to` becomes factor x + slope y + offset of each column.
    void map(const std::vector<float>& factor, std::size_t y, const std::vector<float>& slope,
             const std::vector<float>& offset, std::size_t to) const {
        const std::size_t cols = b_.channels;
        split_rows(b_.rows, cols, [&](std::uint64_t begin, std::uint64_t end) {
            std::vector<float> first(block_rows * cols), second(first.size()), result(first.size());
            for (std::uint64_t r = begin; r < end; r += block_rows) {
                const std::uint64_t rows = std::min(block_rows, end - r);
                const float* const x = at(0, r, rows, first);
                combine(x, factor.data(), y == 0 ? x : at(y, r, rows, second), slope.data(), offset.data(),
                        result.data(), rows, cols);
                store(format_, result.data(), memory_.as<void>(to), r * cols, rows * cols);
            }
        });
    }

private:
    /// Rows of an operand as fp32.
    const float* at(std::size_t operand, std::uint64_t row, std::uint64_t rows, std::vector<float>& scratch) const {
        return as_floats(format_, memory_[operand], row * b_.channels, scratch.data(), rows * b_.channels);
    }
    [[nodiscard]] std::vector<float> total(const std::vector<double>& parts) const {
        std::vector<float> out(b_.channels);
        for (std::size_t c = 0; c < out.size(); ++c) {
            double sum = 0;
            for (std::size_t i = c; i < parts.size(); i += out.size()) sum += parts[i];
            out[c] = static_cast<float>(sum);
        }
        return out;
    }

    const BatchNorm& b_;
    const Memory& memory_;
    Format format_;
};

void forward(const BatchNorm& b, const Memory& memory) {
    const Columns columns(b, memory);
    const std::size_t cols = b.channels;
    const auto rows = static_cast<float>(b.rows);
    std::vector<float> mean(cols), factor(cols), offset(cols);
    const std::vector<float> none(cols);
    const Sums first = columns.sums(none.data(), -1);
    for (std::size_t c = 0; c < cols; ++c) memory[4][c] = mean[c] = first.plain[c] / rows;
    const Sums centred = columns.sums(mean.data(), -1);
    for (std::size_t c = 0; c < cols; ++c) {
        const float rstd = 1.0f / std::sqrt(centred.products[c] / rows + static_cast<float>(norm_epsilon));
        memory[5][c] = rstd;
        factor[c] = rstd * memory[1][c];
        offset[c] = memory[2][c] - mean[c] * factor[c];
    }
    columns.map(factor, 0, none, offset, 3);
}

/// A gradient of the weights, in the format that the settings say.
void put(const BatchNorm& b, const Memory& memory, std::size_t operand, const std::vector<float>& values) {
    const Format format = operands(b, memory.settings())[operand].format;
    std::vector<float> all(values.size());
    if (memory.settings().accumulate) load(format, memory.as<void>(operand), 0, all.data(), all.size());
    for (std::size_t c = 0; c < all.size(); ++c) all[c] += values[c];
    store(format, all.data(), memory.as<void>(operand), 0, all.size());
}

/// dx = gamma rstd (dy - dbeta/R - (x - mean) rstd dgamma/R), which is linear in x and dy.
void backward(const BatchNorm& b, const Memory& memory) {
    const Columns columns(b, memory);
    const std::size_t cols = b.channels;
    const float *const gamma = memory[1], *const mean = memory[3], *const rstd = memory[4];
    Sums sums = columns.sums(mean, 2);
    const auto rows = static_cast<float>(b.rows);
    std::vector<float> factor(cols), slope(cols), offset(cols);
    for (std::size_t c = 0; c < cols; ++c) {
        sums.products[c] *= rstd[c];
        slope[c] = gamma[c] * rstd[c];
        factor[c] = -slope[c] * rstd[c] * sums.products[c] / rows;
        offset[c] = -slope[c] * sums.plain[c] / rows - factor[c] * mean[c];
    }
    columns.map(factor, 2, slope, offset, 5);
    put(b, memory, 6, sums.products);
    put(b, memory, 7, sums.plain);
}

}  // namespace

void run_batch_norm(const BatchNorm& b, const Memory& memory) { b.backward ? backward(b, memory) : forward(b, memory); }

}  // namespace orrery::kernels::cpu
