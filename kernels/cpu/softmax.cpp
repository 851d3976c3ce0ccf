// Softmax and the choice of experts that is built on it.
#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/cpu/clones.hpp"
#include "kernels/cpu/parallel.hpp"
#include "kernels/cpu/pointwise.hpp"
#include "kernels/cpu/vector_math.hpp"
#include "kernels/operands.hpp"

namespace orrery::kernels::cpu {

namespace {

/// One row: y = softmax(scale x); returns the logarithm of the sum of exp(scale x). Three passes over a row that the
/// cache holds.
ORRERY_CLONED float softmax_row(const float* __restrict x, float* __restrict y, std::size_t cols, float scale) {
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

ORRERY_CLONED void softmax_backward_row(const float* __restrict y, const float* __restrict dy, float* __restrict dx,
                                        std::size_t cols, float factor) {
    float dot = 0;
#pragma omp simd reduction(+ : dot)
    for (std::size_t c = 0; c < cols; ++c) dot += y[c] * dy[c];
    for (std::size_t c = 0; c < cols; ++c) dx[c] = factor * y[c] * (dy[c] - dot);
}

/// Number of the largest logit but for `without`, of equals the lowest; without branches, which would be mispredicted.
ORRERY_CLONED std::int32_t largest_but(const float* logits, std::int32_t experts, std::int32_t without) {
    constexpr float least = std::numeric_limits<float>::lowest();
    float largest = least;
#pragma omp simd reduction(max : largest)
    for (std::int32_t c = 0; c < experts; ++c) {
        const float logit = c == without ? least : logits[c];
        largest = logit > largest ? logit : largest;
    }
    std::int32_t chosen = experts;
#pragma omp simd reduction(min : chosen)
    for (std::int32_t c = 0; c < experts; ++c) {
        const std::int32_t candidate = logits[c] == largest && c != without ? c : experts;
        chosen = candidate < chosen ? candidate : chosen;
    }
    return chosen;
}
static_assert(moe_top_k == 2);

}  // namespace

namespace {

float scale_of(const Memory& memory) {
    return static_cast<float>(memory.settings().scale_factor.value_or(softmax_scale));
}

}  // namespace

void run_softmax(const Pointwise& p, const Memory& memory) {
    const auto& scores = memory.settings().scores;
    const float scale = scale_of(memory);
    split_rows(p.rows, p.cols, [&](std::uint64_t begin, std::uint64_t end) {
        for (std::uint64_t r = begin; r < end; ++r) {
            const std::uint64_t query = scores ? (memory.first_row() + r) % scores->seq : 0;
            const std::uint64_t first = scores ? scores->first_key(query) : 0,
                                last = scores ? scores->end_key(query) : p.cols;
            float* const y = memory[1] + r * p.cols;
            softmax_row(memory[0] + r * p.cols + first, y + first, last - first, scale);
            std::fill(y, y + first, 0.0f);
            std::fill(y + last, y + p.cols, 0.0f);
        }
    });
}

void run_softmax_backward(const Pointwise& p, const Memory& memory) {
    if (memory.settings().experts != nullptr) return run_moe_gate_backward(p, memory);
    split_rows(p.rows, p.cols, [&](std::uint64_t begin, std::uint64_t end) {
        for (std::uint64_t at = begin * p.cols; at < end * p.cols; at += p.cols)
            softmax_backward_row(memory[0] + at, memory[1] + at, memory[2] + at, p.cols, scale_of(memory));
    });
}

/// The gate of experts that are given: probabilities, and the weights of the given.
void run_moe_gate_of_given(const Pointwise& p, const Memory& memory) {
    const std::uint64_t top_k = top_k_of(memory.settings());
    split_rows(p.rows, p.cols, [&](std::uint64_t begin, std::uint64_t end) {
        for (std::uint64_t r = begin; r < end; ++r) {
            float* const probability = memory[1] + r * p.cols;
            softmax_row(memory[0] + r * p.cols, probability, p.cols, 1.0f);
            const std::int32_t* const expert = memory.settings().experts + r * top_k;
            float* const weight = memory[3] + r * top_k;
            float total = 0;
            for (std::uint64_t j = 0; j < top_k; ++j) total += weight[j] = probability[expert[j]];
            for (std::uint64_t j = 0; j < top_k && top_k > 1; ++j) weight[j] /= total;
        }
    });
}

void run_moe_gate(const Pointwise& p, const Memory& memory) {
    if (memory.settings().experts != nullptr) return run_moe_gate_of_given(p, memory);
    const auto experts = static_cast<std::int32_t>(p.cols);
    split_rows(p.rows, p.cols, [&](std::uint64_t begin, std::uint64_t end) {
        for (std::uint64_t r = begin; r < end; ++r) {
            const float* const logits = memory[0] + r * p.cols;
            const float* const probability = memory[1] + r * p.cols;
            softmax_row(logits, memory[1] + r * p.cols, p.cols, 1.0f);
            std::int32_t* const expert = memory.as<std::int32_t>(2) + r * moe_top_k;
            expert[0] = largest_but(logits, experts, -1);
            expert[1] = largest_but(logits, experts, expert[0]);
            const float total = probability[expert[0]] + probability[expert[1]];
            for (std::size_t k = 0; k < moe_top_k; ++k) memory[3][r * moe_top_k + k] = probability[expert[k]] / total;
        }
    });
}

}  // namespace orrery::kernels::cpu
