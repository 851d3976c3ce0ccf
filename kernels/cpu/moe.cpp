// What training layers with experts adds: the gate's gradient, and tokens with any number of copies on their way back.
#include <algorithm>
#include <cstring>
#include <vector>

#include "kernels/cpu/clones.hpp"
#include "kernels/cpu/half.hpp"
#include "kernels/cpu/parallel.hpp"
#include "kernels/cpu/pointwise.hpp"

namespace orrery::kernels::cpu {

namespace {

/// y = factor x; returns the product of x and other.
ORRERY_CLONED float scale_and_dot(const float* __restrict x, const float* __restrict other, float factor,
                                  float* __restrict y, std::size_t count) {
    float dot = 0;
#pragma omp simd reduction(+ : dot)
    for (std::size_t i = 0; i < count; ++i) {
        dot += x[i] * other[i];
        y[i] = factor * x[i];
    }
    return dot;
}

ORRERY_CLONED void add_scaled(const float* __restrict x, float factor, float* __restrict y, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) y[i] += factor * x[i];
}

/// Weights are probabilities of the chosen over their sum: the gradient stays among the chosen.
void gate_backward_row(const float* probability, const float* dweight, const std::int32_t* expert, float* dlogit,
                       std::uint64_t top_k) {
    float total = 0, mean = 0;
    for (std::uint64_t j = 0; j < top_k; ++j) total += probability[expert[j]];
    for (std::uint64_t j = 0; j < top_k; ++j) mean += probability[expert[j]] / total * dweight[j];
    for (std::uint64_t j = 0; j < top_k; ++j) dlogit[expert[j]] = probability[expert[j]] / total * (dweight[j] - mean);
}

}  // namespace

void run_moe_gate_backward(const Pointwise& p, const Memory& memory) {
    const std::uint64_t top_k = top_k_of(memory.settings());
    split_rows(p.rows, p.cols, [&](std::uint64_t begin, std::uint64_t end) {
        for (std::uint64_t r = begin; r < end; ++r) {
            const float *const probability = memory[0] + r * p.cols, *const dweight = memory[1] + r * top_k;
            const std::int32_t* const expert = memory.settings().experts + r * top_k;
            float* const dlogit = memory[2] + r * p.cols;
            if (top_k > 1) {
                std::memset(dlogit, 0, p.cols * sizeof(float));
                gate_backward_row(probability, dweight, expert, dlogit, top_k);
                continue;
            }
            const float share = probability[expert[0]] * dweight[0];
            for (std::uint64_t c = 0; c < p.cols; ++c) dlogit[c] = -probability[c] * share;
            dlogit[expert[0]] += share;
        }
    });
}

void run_unpermute_any(const Pointwise& p, const Memory& memory) {
    const std::uint64_t top_k = top_k_of(memory.settings());
    const auto* const position = memory.as<std::int32_t>(1);
    const Format format = format_of(p.dtype);
    split_rows(p.rows / top_k, p.cols, [&](std::uint64_t begin, std::uint64_t end) {
        std::vector<float> sum(p.cols), scratch(p.cols);
        for (std::uint64_t t = begin; t < end; ++t) {
            std::ranges::fill(sum, 0.0f);
            for (std::uint64_t u = t * top_k; u < (t + 1) * top_k; ++u) {
                const auto row = static_cast<std::uint64_t>(position[u]) * p.cols;
                add_scaled(as_floats(format, memory[0], row, scratch.data(), p.cols), memory[2][u], sum.data(), p.cols);
            }
            store(format, sum.data(), memory[3], t * p.cols, p.cols);
        }
    });
}

void run_unpermute_backward(const Pointwise& p, const Memory& memory) {
    const Unpermuted& forward = memory.settings().unpermuted;
    auto* const x = static_cast<float*>(const_cast<void*>(forward.x));
    const std::uint64_t top_k = top_k_of(memory.settings());
    const auto* const source = memory.as<std::int32_t>(1);
    const Format format = format_of(p.dtype);
    split_rows(p.rows, p.cols, [&](std::uint64_t begin, std::uint64_t end) {
        std::vector<float> scratch(3 * p.cols);
        float *const one = scratch.data(), *const other = one + p.cols, *const scaled = other + p.cols;
        for (std::uint64_t r = begin; r < end; ++r) {
            const auto copy = static_cast<std::uint64_t>(source[r]);
            float* const dx = format == Format::fp32 ? memory[2] + r * p.cols : scaled;
            forward.dweight[copy] =
                scale_and_dot(as_floats(format, memory[0], copy / top_k * p.cols, one, p.cols),
                              as_floats(format, x, r * p.cols, other, p.cols), forward.weight[copy], dx, p.cols);
            if (dx == scaled) store(format, scaled, memory[2], r * p.cols, p.cols);
        }
    });
}

}  // namespace orrery::kernels::cpu
