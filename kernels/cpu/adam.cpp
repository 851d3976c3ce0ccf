#include <cmath>

#include "kernels/cpu/parallel.hpp"
#include "kernels/cpu/pointwise.hpp"
#include "kernels/operands.hpp"

namespace orrery::kernels::cpu {

namespace {

/// What stays the same over a step: 1 / (1 - b^t) for both moments.
struct Corrections {
    float m, v;
};

[[gnu::target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")]] void adam_loop(const float* g, float* w, float* m,
                                                                                     float* v, float* copy,
                                                                                     std::size_t count,
                                                                                     const Adam& adam,
                                                                                     Corrections corrections) {
    const auto b1 = static_cast<float>(adam.b1), b2 = static_cast<float>(adam.b2);
    const auto rest1 = static_cast<float>(1 - adam.b1), rest2 = static_cast<float>(1 - adam.b2);
    const auto rate = static_cast<float>(adam.rate), decay = static_cast<float>(adam.decay);
    const auto epsilon = static_cast<float>(adam.epsilon);
#pragma omp simd
    for (std::size_t i = 0; i < count; ++i) {
        m[i] = b1 * m[i] + rest1 * g[i];
        v[i] = b2 * v[i] + rest2 * g[i] * g[i];
        const float step = m[i] * corrections.m / (std::sqrt(v[i] * corrections.v) + epsilon) + decay * w[i];
        w[i] -= rate * step;
        copy[i] = w[i];
    }
}

}  // namespace

void run_adam(const Pointwise& p, const Memory& memory) {
    const Adam& s = memory.settings().adam;
    const Corrections corrections{static_cast<float>(1 / (1 - std::pow(s.b1, s.step))),
                                  static_cast<float>(1 / (1 - std::pow(s.b2, s.step)))};
    split_elements(p.rows * p.cols, [&](std::uint64_t at, std::uint64_t end) {
        adam_loop(memory[0] + at, memory[1] + at, memory[2] + at, memory[3] + at, memory[4] + at, end - at, s,
                  corrections);
    });
}

}  // namespace orrery::kernels::cpu
