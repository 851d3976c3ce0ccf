#include <cstring>

#include "kernels/cpu/parallel.hpp"
#include "kernels/cpu/pointwise.hpp"
#include "kernels/operands.hpp"

namespace orrery::kernels::cpu {

namespace {

[[gnu::target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")]] void add_loop(const float* a, const float* b,
                                                                                    float* c, std::size_t count) {
#pragma omp simd
    for (std::size_t i = 0; i < count; ++i) c[i] = a[i] + b[i];
}

[[gnu::target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")]] void scale_loop(const float* a, float* b,
                                                                                      std::size_t count, float factor) {
#pragma omp simd
    for (std::size_t i = 0; i < count; ++i) b[i] = factor * a[i];
}

}  // namespace

void run_add(const Pointwise& p, const Memory& memory) {
    split_elements(p.rows * p.cols, [&](std::uint64_t begin, std::uint64_t end) {
        add_loop(memory[0] + begin, memory[1] + begin, memory[2] + begin, end - begin);
    });
}

void run_scale(const Pointwise& p, const Memory& memory) {
    const auto factor = static_cast<float>(memory.settings().scale_factor);
    split_elements(p.rows * p.cols, [&](std::uint64_t begin, std::uint64_t end) {
        scale_loop(memory[0] + begin, memory[1] + begin, end - begin, factor);
    });
}

/// From fp32 to fp32: a copy.
void run_cast(const Pointwise& p, const Memory& memory) {
    split_elements(p.rows * p.cols, [&](std::uint64_t begin, std::uint64_t end) {
        std::memcpy(memory[1] + begin, memory[0] + begin, (end - begin) * sizeof(float));
    });
}

void run_fill(const Pointwise& p, const Memory& memory) {
    split_elements(p.rows * p.cols, [&](std::uint64_t begin, std::uint64_t end) {
        std::memset(memory[0] + begin, 0, (end - begin) * sizeof(float));
    });
}

}  // namespace orrery::kernels::cpu
