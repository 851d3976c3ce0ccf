// Attention over a part of the keys, brought into that over all: log-sum-exps and results.
#include <algorithm>
#include <array>
#include <cmath>

#include "kernels/cpu/clones.hpp"
#include "kernels/cpu/half.hpp"
#include "kernels/cpu/parallel.hpp"
#include "kernels/cpu/vector_math.hpp"
#include "kernels/operands.hpp"

namespace orrery::kernels::cpu {

namespace {

void log_add_exp_loop(const float* a, const float* b, float* c, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
        const float larger = std::max(a[i], b[i]), smaller = std::min(a[i], b[i]);
        c[i] = larger + std::log1p(std::exp(smaller - larger));
    }
}

ORRERY_CLONED void add_scaled(const float* __restrict x, float factor, float* __restrict y, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) y[i] += factor * x[i];
}

/// Where the log-sum-exp of a row's first head lies, and how far it is to the next head's.
struct Sums {
    Sums(const Pointwise& p, const Settings& settings)
        : head(settings.head != 0 ? settings.head : rope_head(p.cols)),
          heads(p.cols / head),
          queries(settings.positions != 0 ? settings.positions : p.rows),
          stride(settings.lse_stride != 0 ? settings.lse_stride : queries) {}
    [[nodiscard]] std::uint64_t first(std::uint64_t row) const {
        return row / queries * heads * stride + row % queries;
    }
    std::uint64_t head, heads, queries, stride;
};

/// Rows [begin, end), in pieces of one head's columns that are unpacked where they are bf16.
void merge_rows(const Pointwise& p, const Memory& memory, const Sums& sums, std::uint64_t begin, std::uint64_t end) {
    const Format format = format_of(p.dtype);
    std::vector<float> scratch(2 * sums.head);
    for (std::uint64_t row = begin; row < end; ++row)
        for (std::uint64_t h = 0; h < sums.heads; ++h) {
            const std::uint64_t at = row * p.cols + h * sums.head, lse = sums.first(row) + h * sums.stride;
            float* const x = as_floats(format, memory[0], at, scratch.data(), sums.head);
            float* const y = as_floats(format, memory[3], at, scratch.data() + sums.head, sums.head);
            add_scaled(x, exp_of(memory[1][lse] - memory[2][lse]), y, sums.head);
            if (p.dtype != Dtype::fp32) store(format, y, memory[3], at, sums.head);
        }
}

}  // namespace

void run_log_add_exp(const Pointwise& p, const Memory& memory) {
    const std::uint64_t stride = memory.settings().row_stride != 0 ? memory.settings().row_stride : p.cols;
    split_rows(p.rows, p.cols, [&](std::uint64_t begin, std::uint64_t end) {
        for (std::uint64_t row = begin; row < end; ++row)
            log_add_exp_loop(memory[0] + row * stride, memory[1] + row * stride, memory[2] + row * stride, p.cols);
    });
}

void run_softmax_merge(const Pointwise& p, const Memory& memory) {
    const Sums sums(p, memory.settings());
    split_rows(p.rows, p.cols,
               [&](std::uint64_t begin, std::uint64_t end) { merge_rows(p, memory, sums, begin, end); });
}

}  // namespace orrery::kernels::cpu
