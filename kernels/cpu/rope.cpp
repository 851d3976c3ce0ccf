#include "kernels/cpu/clones.hpp"
#include "kernels/cpu/parallel.hpp"
#include "kernels/cpu/pointwise.hpp"
#include "kernels/operands.hpp"

namespace orrery::kernels::cpu {

namespace {

/// One row; sign -1 rotates back.
ORRERY_CLONED void rope_row(const float* x, const float* __restrict cos, const float* __restrict sin, float* y,
                            std::size_t cols, std::size_t head, float sign) {
    for (std::size_t at = 0; at < cols; at += head) {
#pragma omp simd
        for (std::size_t i = 0; i < head / 2; ++i) {
            const float even = x[at + 2 * i], odd = x[at + 2 * i + 1], s = sign * sin[i];
            y[at + 2 * i] = even * cos[i] - odd * s;
            y[at + 2 * i + 1] = even * s + odd * cos[i];
        }
    }
}

}  // namespace

void run_rope(const Pointwise& p, const Memory& memory) {
    const Settings& settings = memory.settings();
    const std::uint64_t head = settings.head != 0 ? settings.head : rope_head(p.cols);
    const std::uint64_t positions = settings.positions != 0 ? settings.positions : std::min(p.rows, rope_positions);
    const std::uint64_t stride = settings.row_stride != 0 ? settings.row_stride : p.cols;
    const float sign = p.kind == PointwiseKind::rope ? 1.0f : -1.0f;
    split_rows(p.rows, p.cols, [&](std::uint64_t begin, std::uint64_t end) {
        for (std::uint64_t r = begin; r < end; ++r) {
            const std::uint64_t angles = (memory.first_row() + r) % positions * (head / 2);
            rope_row(memory[0] + r * stride, memory[1] + angles, memory[2] + angles, memory[3] + r * stride, p.cols,
                     head, sign);
        }
    });
}

}  // namespace orrery::kernels::cpu
