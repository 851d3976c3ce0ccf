#include "kernels/cpu/parallel.hpp"
#include "kernels/cpu/pointwise.hpp"
#include "kernels/operands.hpp"

namespace orrery::kernels::cpu {

namespace {

/// One row; sign -1 rotates back.
[[gnu::target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")]] void rope_row(
    const float* __restrict x, const float* __restrict cos, const float* __restrict sin, float* __restrict y,
    std::size_t cols, std::size_t head, float sign) {
    for (std::size_t at = 0; at < cols; at += head)
        for (std::size_t i = 0; i < head / 2; ++i) {
            const float even = x[at + 2 * i], odd = x[at + 2 * i + 1], s = sign * sin[i];
            y[at + 2 * i] = even * cos[i] - odd * s;
            y[at + 2 * i + 1] = even * s + odd * cos[i];
        }
}

}  // namespace

void run_rope(const Pointwise& p, const Memory& memory) {
    const std::uint64_t head = rope_head(p.cols), positions = std::min(p.rows, rope_positions);
    const float sign = p.kind == PointwiseKind::rope ? 1.0f : -1.0f;
    split_rows(p.rows, p.cols, [&](std::uint64_t begin, std::uint64_t end) {
        for (std::uint64_t r = begin; r < end; ++r) {
            const std::uint64_t angles = r % positions * (head / 2);
            rope_row(memory[0] + r * p.cols, memory[1] + angles, memory[2] + angles, memory[3] + r * p.cols, p.cols,
                     head, sign);
        }
    });
}

}  // namespace orrery::kernels::cpu
