#include <algorithm>
#include <cmath>

#include "kernels/cpu/clones.hpp"
#include "kernels/cpu/half.hpp"
#include "kernels/cpu/parallel.hpp"
#include "kernels/cpu/pointwise.hpp"
#include "kernels/operands.hpp"

namespace orrery::kernels::cpu {

namespace {

/// Weights that are still in the first level of cache when they are copied.
constexpr std::uint64_t block = 2048;

/// What stays the same over a step: 1 / (1 - b^t) for both moments.
struct Corrections {
    float m, v;
};

ORRERY_CLONED void adam_loop(const float* g, float* w, float* m, float* v, std::size_t count, const Adam& adam,
                             Corrections corrections, float factor) {
    const auto b1 = static_cast<float>(adam.b1), b2 = static_cast<float>(adam.b2);
    const auto rest1 = static_cast<float>(1 - adam.b1), rest2 = static_cast<float>(1 - adam.b2);
    const auto rate = static_cast<float>(adam.rate), decay = static_cast<float>(adam.decay);
    const auto epsilon = static_cast<float>(adam.epsilon);
#pragma omp simd
    for (std::size_t i = 0; i < count; ++i) {
        const float gradient = factor * g[i];
        m[i] = b1 * m[i] + rest1 * gradient;
        v[i] = b2 * v[i] + rest2 * gradient * gradient;
        const float step = m[i] * corrections.m / (std::sqrt(v[i] * corrections.v) + epsilon) + decay * w[i];
        w[i] -= rate * step;
    }
}

}  // namespace

void run_adam(const Pointwise& p, const Memory& memory) {
    const Adam& s = memory.settings().adam;
    const Corrections corrections{static_cast<float>(1 / (1 - std::pow(s.b1, s.step))),
                                  static_cast<float>(1 / (1 - std::pow(s.b2, s.step)))};
    const Format copy = format_of(p.dtype);
    const auto factor = static_cast<float>(memory.settings().scale_factor.value_or(1));
    split_elements(p.rows * p.cols, [&](std::uint64_t begin, std::uint64_t end) {
        for (std::uint64_t at = begin; at < end; at += block) {
            const std::uint64_t count = std::min(block, end - at);
            adam_loop(memory[0] + at, memory[1] + at, memory[2] + at, memory[3] + at, count, s, corrections, factor);
            if (memory.as<void>(4) != memory.as<void>(1)) store(copy, memory[1] + at, memory[4], at, count);
        }
    });
}

}  // namespace orrery::kernels::cpu
