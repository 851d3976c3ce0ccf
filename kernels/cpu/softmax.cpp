// Softmax and the choice of experts that is built on it.
#include <cmath>

#include "kernels/cpu/parallel.hpp"
#include "kernels/cpu/pointwise.hpp"
#include "kernels/cpu/vector_math.hpp"
#include "kernels/operands.hpp"

namespace orrery::kernels::cpu {

namespace {

/// One row: y = softmax(scale x); returns the logarithm of the sum of exp(scale x). Three passes over a row that the
/// cache holds.
[[gnu::target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")]] float softmax_row(const float* __restrict x,
                                                                                        float* __restrict y,
                                                                                        std::size_t cols, float scale) {
    float largest = x[0];
#pragma omp simd reduction(max : largest)
    for (std::size_t c = 0; c < cols; ++c) largest = x[c] > largest ? x[c] : largest;
    float total = 0;
#pragma omp simd reduction(+ : total)
    for (std::size_t c = 0; c < cols; ++c) {
        y[c] = exp_of(scale * (x[c] - largest));
        total += y[c];
    }
    const float share = 1.0f / total;
    for (std::size_t c = 0; c < cols; ++c) y[c] *= share;
    return scale * largest + std::log(total);
}

[[gnu::target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")]] void softmax_backward_row(
    const float* __restrict y, const float* __restrict dy, float* __restrict dx, std::size_t cols) {
    float dot = 0;
#pragma omp simd reduction(+ : dot)
    for (std::size_t c = 0; c < cols; ++c) dot += y[c] * dy[c];
    constexpr auto factor = static_cast<float>(softmax_scale);
    for (std::size_t c = 0; c < cols; ++c) dx[c] = factor * y[c] * (dy[c] - dot);
}

/// The two largest logits, of equals the lower number.
void choose_two(const float* logits, std::size_t experts, std::int32_t* chosen) {
    std::size_t first = logits[1] > logits[0] ? 1 : 0, second = 1 - first;
    for (std::size_t c = 2; c < experts; ++c) {
        if (logits[c] > logits[first]) {
            second = first;
            first = c;
        } else if (logits[c] > logits[second]) {
            second = c;
        }
    }
    chosen[0] = static_cast<std::int32_t>(first);
    chosen[1] = static_cast<std::int32_t>(second);
}
static_assert(moe_top_k == 2);

}  // namespace

void run_softmax(const Pointwise& p, const Memory& memory) {
    split_rows(p.rows, p.cols, [&](std::uint64_t begin, std::uint64_t end) {
        for (std::uint64_t r = begin; r < end; ++r)
            softmax_row(memory[0] + r * p.cols, memory[1] + r * p.cols, p.cols, static_cast<float>(softmax_scale));
    });
}

void run_softmax_backward(const Pointwise& p, const Memory& memory) {
    split_rows(p.rows, p.cols, [&](std::uint64_t begin, std::uint64_t end) {
        for (std::uint64_t at = begin * p.cols; at < end * p.cols; at += p.cols)
            softmax_backward_row(memory[0] + at, memory[1] + at, memory[2] + at, p.cols);
    });
}

void run_moe_gate(const Pointwise& p, const Memory& memory) {
    split_rows(p.rows, p.cols, [&](std::uint64_t begin, std::uint64_t end) {
        for (std::uint64_t r = begin; r < end; ++r) {
            const float* const logits = memory[0] + r * p.cols;
            const float* const probability = memory[1] + r * p.cols;
            softmax_row(logits, memory[1] + r * p.cols, p.cols, 1.0f);
            std::int32_t* const expert = memory.as<std::int32_t>(2) + r * moe_top_k;
            choose_two(logits, p.cols, expert);
            const float total = probability[expert[0]] + probability[expert[1]];
            for (std::size_t k = 0; k < moe_top_k; ++k) memory[3][r * moe_top_k + k] = probability[expert[k]] / total;
        }
    });
}

}  // namespace orrery::kernels::cpu
