#include <cmath>

#include "kernels/cpu/clones.hpp"
#include "kernels/cpu/parallel.hpp"
#include "kernels/cpu/pointwise.hpp"
#include "kernels/operands.hpp"

namespace orrery::kernels::cpu {

namespace {

constexpr auto epsilon = static_cast<float>(norm_epsilon);

/// One row, which the first level of cache holds between its passes.
ORRERY_CLONED void layernorm_row(const float* __restrict x, const float* __restrict gamma, const float* __restrict beta,
                                 float* __restrict y, std::size_t cols, float* mean_out, float* rstd_out) {
    float total = 0, squares = 0;
#pragma omp simd reduction(+ : total)
    for (std::size_t c = 0; c < cols; ++c) total += x[c];
    const float mean = total / static_cast<float>(cols);
#pragma omp simd reduction(+ : squares)
    for (std::size_t c = 0; c < cols; ++c) squares += (x[c] - mean) * (x[c] - mean);
    const float rstd = 1.0f / std::sqrt(squares / static_cast<float>(cols) + epsilon);
    for (std::size_t c = 0; c < cols; ++c) y[c] = (x[c] - mean) * rstd * gamma[c] + beta[c];
    *mean_out = mean;
    *rstd_out = rstd;
}

ORRERY_CLONED void rmsnorm_row(const float* __restrict x, const float* __restrict gamma, float* __restrict y,
                               std::size_t cols, float* rstd_out) {
    float squares = 0;
#pragma omp simd reduction(+ : squares)
    for (std::size_t c = 0; c < cols; ++c) squares += x[c] * x[c];
    const float rstd = 1.0f / std::sqrt(squares / static_cast<float>(cols) + epsilon);
    for (std::size_t c = 0; c < cols; ++c) y[c] = x[c] * rstd * gamma[c];
    *rstd_out = rstd;
}

}  // namespace

void run_layernorm(const Pointwise& p, const Memory& memory) {
    split_rows(p.rows, p.cols, [&](std::uint64_t begin, std::uint64_t end) {
        for (std::uint64_t r = begin; r < end; ++r)
            layernorm_row(memory[0] + r * p.cols, memory[1], memory[2], memory[3] + r * p.cols, p.cols, memory[4] + r,
                          memory[5] + r);
    });
}

void run_rmsnorm(const Pointwise& p, const Memory& memory) {
    split_rows(p.rows, p.cols, [&](std::uint64_t begin, std::uint64_t end) {
        for (std::uint64_t r = begin; r < end; ++r)
            rmsnorm_row(memory[0] + r * p.cols, memory[1], memory[2] + r * p.cols, p.cols, memory[3] + r);
    });
}

}  // namespace orrery::kernels::cpu
