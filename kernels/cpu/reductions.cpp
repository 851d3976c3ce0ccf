#include <algorithm>
#include <array>
#include <vector>

#include "kernels/cpu/clones.hpp"
#include "kernels/cpu/half.hpp"
#include "kernels/cpu/parallel.hpp"
#include "kernels/cpu/pointwise.hpp"

namespace orrery::kernels::cpu {

namespace {

/// Columns whose sums stay in the first level of cache.
constexpr std::size_t column_block = 2048;

ORRERY_CLONED void add_row(const float* __restrict row, float* __restrict sums, std::size_t cols) {
    for (std::size_t c = 0; c < cols; ++c) sums[c] += row[c];
}

/// Elements summed in fp32 before their sum is added in double precision.
constexpr std::size_t chunk = 8192;

ORRERY_CLONED float squares(const float* __restrict x, std::size_t count) {
    float total = 0;
#pragma omp simd reduction(+ : total)
    for (std::size_t i = 0; i < count; ++i) total += x[i] * x[i];
    return total;
}

void add_columns(const float* x, float* sums, std::uint64_t rows, std::uint64_t stride, std::uint64_t cols) {
    for (std::uint64_t at = 0; at < cols; at += column_block)
        for (std::uint64_t r = 0; r < rows; ++r)
            add_row(x + r * stride + at, sums + at, std::min<std::uint64_t>(column_block, cols - at));
}

}  // namespace

/// Threads share the columns.
void run_bias_gradient(const Pointwise& p, const Memory& memory) {
    const int parts = parts_of(p.cols, least_elements / p.rows + 16);
    split(p.cols, parts, 16, [&](int, std::uint64_t begin, std::uint64_t end) {
        if (!memory.settings().accumulate) std::fill(memory[1] + begin, memory[1] + end, 0.0f);
        add_columns(memory[0] + begin, memory[1] + begin, p.rows, p.cols, end - begin);
    });
}

void run_sum_of_squares(const Pointwise& p, const Memory& memory) {
    const std::uint64_t count = p.rows * p.cols;
    const int parts = parts_of(count, least_elements);
    std::vector<double> sums(static_cast<std::size_t>(parts));
    split(count, parts, 16, [&](int part, std::uint64_t begin, std::uint64_t end) {
        double total = 0;
        std::array<float, chunk> unpacked;
        for (std::uint64_t i = begin; i < end; i += chunk) {
            const std::uint64_t length = std::min<std::uint64_t>(chunk, end - i);
            if (p.dtype != Dtype::fp32) load(format_of(p.dtype), memory[0], i, unpacked.data(), length);
            total += static_cast<double>(squares(p.dtype == Dtype::fp32 ? memory[0] + i : unpacked.data(), length));
        }
        sums[static_cast<std::size_t>(part)] = total;
    });
    double total = 0;
    for (const double sum : sums) total += sum;
    memory[1][0] = static_cast<float>(total + (memory.settings().accumulate ? memory[1][0] : 0.0f));
}

}  // namespace orrery::kernels::cpu
