#include <algorithm>
#include <array>
#include <cstring>

#include "kernels/cpu/clones.hpp"
#include "kernels/cpu/half.hpp"
#include "kernels/cpu/parallel.hpp"
#include "kernels/cpu/pointwise.hpp"
#include "kernels/operands.hpp"

namespace orrery::kernels::cpu {

namespace {

ORRERY_CLONED void add_loop(const float* a, const float* b, float* c, std::size_t count) {
#pragma omp simd
    for (std::size_t i = 0; i < count; ++i) c[i] = a[i] + b[i];
}

ORRERY_CLONED void scale_loop(const float* a, float* b, std::size_t count, float factor) {
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
    const auto factor = static_cast<float>(memory.settings().scale_factor.value_or(scale_factor));
    split_elements(p.rows * p.cols, [&](std::uint64_t begin, std::uint64_t end) {
        scale_loop(memory[0] + begin, memory[1] + begin, end - begin, factor);
    });
}

/// Through fp32, in blocks that the first level of cache holds.
void run_cast(const Pointwise& p, const Memory& memory) {
    constexpr std::uint64_t block = 4096;
    const std::vector<Operand> list = operands(p, memory.settings());
    const auto factor = static_cast<float>(memory.settings().scale_factor.value_or(1.0));
    split_elements(p.rows * p.cols, [&](std::uint64_t begin, std::uint64_t end) {
        std::array<float, block> values;
        for (std::uint64_t at = begin; at < end; at += block) {
            const std::uint64_t count = std::min(block, end - at);
            load(list[0].format, memory[0], at, values.data(), count);
            if (factor != 1.0f) scale_loop(values.data(), values.data(), count, factor);
            store(list[1].format, values.data(), memory[1], at, count);
        }
    });
}

void run_fill(const Pointwise& p, const Memory& memory) {
    const std::uint64_t size = size_of(p.dtype);
    split_elements(p.rows * p.cols, [&](std::uint64_t begin, std::uint64_t end) {
        std::memset(memory.as<std::byte>(0) + begin * size, 0, (end - begin) * size);
    });
}

}  // namespace orrery::kernels::cpu
