#include <algorithm>

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

/// What one row rotates by: `turned` columns of each head.
struct Turn {
    const float *cos, *sin;
    std::size_t turned;
    float sign;
    void apply(const float* x, float* y) const { rope_row(x, cos, sin, y, turned, turned, sign); }
};

/// The last columns of each head.
void turn_row(const float* x, const Turn& turn, float* y, std::size_t cols, std::size_t head) {
    if (turn.turned == head) return rope_row(x, turn.cos, turn.sin, y, cols, head, turn.sign);
    const std::size_t plain = head - turn.turned;
    for (std::size_t at = 0; at < cols; at += head) {
        if (x != y) std::copy_n(x + at, plain, y + at);
        turn.apply(x + at + plain, y + at + plain);
    }
}

/// Heads of their own columns and those that all have in common, rotated.
void join_row(const float* own, const float* one, const Turn& turn, float* y, std::size_t cols, std::size_t head) {
    const std::size_t plain = head - turn.turned;
    for (std::size_t at = 0; at < cols; at += head, own += plain) {
        std::copy_n(own, plain, y + at);
        turn.apply(one, y + at + plain);
    }
}

/// The gradients of both: a rotation is linear, so the heads' are summed first.
void divide_row(const float* dy, const Turn& turn, float* own, float* one, std::size_t cols, std::size_t head) {
    const std::size_t plain = head - turn.turned;
    std::fill_n(one, turn.turned, 0.0f);
    for (std::size_t at = 0; at < cols; at += head, own += plain) {
        std::copy_n(dy + at, plain, own);
        for (std::size_t i = 0; i < turn.turned; ++i) one[i] += dy[at + plain + i];
    }
    turn.apply(one, one);
}

}  // namespace

void run_rope(const Pointwise& p, const Memory& memory) {
    const Settings& settings = memory.settings();
    const std::uint64_t head = settings.head != 0 ? settings.head : rope_head(p.cols);
    const std::uint64_t positions = settings.positions != 0 ? settings.positions : std::min(p.rows, rope_positions);
    const std::uint64_t stride = settings.row_stride != 0 ? settings.row_stride : p.cols;
    const std::uint64_t turned = settings.turned != 0 ? settings.turned : head, plain = head - turned;
    const bool forward = p.kind == PointwiseKind::rope;
    const std::size_t cos = forward && settings.shared ? 2 : 1;
    split_rows(p.rows, p.cols, [&](std::uint64_t begin, std::uint64_t end) {
        for (std::uint64_t r = begin; r < end; ++r) {
            const std::uint64_t angles = (memory.first_row() + r) % positions * (turned / 2);
            const Turn turn{memory[cos] + angles, memory[cos + 1] + angles, turned, forward ? 1.0f : -1.0f};
            const std::uint64_t own = r * (p.cols / head * plain), one = r * turned, whole = r * p.cols;
            if (settings.shared && forward)
                join_row(memory[0] + own, memory[1] + one, turn, memory[4] + whole, p.cols, head);
            else if (settings.shared)
                divide_row(memory[0] + whole, turn, memory[3] + own, memory[4] + one, p.cols, head);
            else
                turn_row(memory[0] + r * stride, turn, memory[3] + r * stride, p.cols, head);
        }
    });
}

}  // namespace orrery::kernels::cpu
