// The loss over a vocabulary, whole or one rank's part of it. Operands may be updated in place.
#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/cpu/clones.hpp"
#include "kernels/cpu/parallel.hpp"
#include "kernels/cpu/pointwise.hpp"
#include "kernels/cpu/vector_math.hpp"

namespace orrery::kernels::cpu {

namespace {

ORRERY_CLONED float largest_of(const float* x, std::size_t count) {
    float largest = -std::numeric_limits<float>::infinity();
#pragma omp simd reduction(max : largest)
    for (std::size_t i = 0; i < count; ++i) largest = x[i] > largest ? x[i] : largest;
    return largest;
}

/// y = exp(x - offset); returns the sum.
ORRERY_CLONED float exponentials(const float* x, float* y, std::size_t count, float offset) {
    float total = 0;
#pragma omp simd reduction(+ : total)
    for (std::size_t i = 0; i < count; ++i) {
        y[i] = exp_of(x[i] - offset);
        total += y[i];
    }
    return total;
}

ORRERY_CLONED void scaled(const float* x, float* y, std::size_t count, float factor) {
#pragma omp simd
    for (std::size_t i = 0; i < count; ++i) y[i] = x[i] * factor;
}

/// Columns that stand for a class.
std::uint64_t classes(const Pointwise& p, const Memory& memory) { return std::min(memory.settings().classes, p.cols); }

bool is_class(std::int32_t target, std::uint64_t count) {
    return target >= 0 && static_cast<std::uint64_t>(target) < count;
}

/// f(row, the row's first element)
template <class Function>
void each_row(const Pointwise& p, const Function& f) {
    split_rows(p.rows, p.cols, [&](std::uint64_t begin, std::uint64_t end) {
        for (std::uint64_t r = begin; r < end; ++r) f(r, r * p.cols);
    });
}

/// dlogits = (share x - [c = target]) / rows, rows of the whole launch.
void gradient_row(const Pointwise& p, const Memory& memory, const float* x, float* dx, std::int32_t target,
                  float share) {
    const std::uint64_t count = classes(p, memory);
    const float part = 1.0f / static_cast<float>(memory.all_rows(p));
    scaled(x, dx, count, share * part);
    if (is_class(target, count)) dx[target] -= part;
    std::fill(dx + count, dx + p.cols, 0.0f);
}

}  // namespace

void run_cross_entropy(const Pointwise& p, const Memory& memory) {
    const auto* const target = memory.as<std::int32_t>(1);
    const std::uint64_t count = classes(p, memory);
    each_row(p, [&](std::uint64_t r, std::uint64_t at) {
        const float* const logits = memory[0] + at;
        float* const probabilities = memory[2] + at;
        const float largest = largest_of(logits, count), picked = logits[target[r]];
        const float total = exponentials(logits, probabilities, count, largest);
        memory[3][r] = largest + std::log(total) - picked;
        if (memory.settings().loss_gradient)
            return gradient_row(p, memory, probabilities, probabilities, target[r], 1.0f / total);
        scaled(probabilities, probabilities, count, 1.0f / total);
        std::fill(probabilities + count, probabilities + p.cols, 0.0f);
    });
}

void run_cross_entropy_backward(const Pointwise& p, const Memory& memory) {
    const auto* const target = memory.as<std::int32_t>(1);
    each_row(p, [&](std::uint64_t r, std::uint64_t at) {
        gradient_row(p, memory, memory[0] + at, memory[2] + at, target[r], 1.0f);
    });
}

void run_cross_entropy_maximum(const Pointwise& p, const Memory& memory) {
    each_row(p,
             [&](std::uint64_t r, std::uint64_t at) { memory[1][r] = largest_of(memory[0] + at, classes(p, memory)); });
}

void run_cross_entropy_part(const Pointwise& p, const Memory& memory) {
    const auto* const target = memory.as<std::int32_t>(2);
    const std::uint64_t count = classes(p, memory);
    each_row(p, [&](std::uint64_t r, std::uint64_t at) {
        const float* const logits = memory[0] + at;
        memory[5][r] = is_class(target[r], count) ? logits[target[r]] : 0.0f;
        memory[4][r] = exponentials(logits, memory[3] + at, count, memory[1][r]);
        std::fill(memory[3] + at + count, memory[3] + at + p.cols, 0.0f);
    });
}

void run_cross_entropy_part_backward(const Pointwise& p, const Memory& memory) {
    const auto* const target = memory.as<std::int32_t>(2);
    each_row(p, [&](std::uint64_t r, std::uint64_t at) {
        gradient_row(p, memory, memory[0] + at, memory[3] + at, target[r], 1.0f / memory[1][r]);
    });
}

}  // namespace orrery::kernels::cpu
