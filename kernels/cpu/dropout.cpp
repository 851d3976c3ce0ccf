#include "kernels/cpu/clones.hpp"
#include "kernels/cpu/masks.hpp"
#include "kernels/cpu/parallel.hpp"
#include "kernels/cpu/pointwise.hpp"

namespace orrery::kernels::cpu {

namespace {

ORRERY_CLONED void dropout_loop(const float* __restrict x, const std::uint8_t* __restrict mask, float* __restrict y,
                                std::size_t count, float kept) {
    for (std::size_t i = 0; i < count; ++i) y[i] = x[i] * (static_cast<float>(mask[i]) * kept);
}

ORRERY_CLONED void bias_dropout_add_loop(const float* __restrict x, const float* __restrict bias,
                                         const float* __restrict residual, const std::uint8_t* __restrict mask,
                                         float* __restrict y, std::size_t rows, std::size_t cols, float kept) {
    for (std::size_t r = 0; r < rows; ++r)
        for (std::size_t c = 0; c < cols; ++c) {
            const std::size_t i = r * cols + c;
            y[i] = residual[i] + (x[i] + bias[c]) * (static_cast<float>(mask[i]) * kept);
        }
}

MaskNumbers numbers_of(const Memory& memory) { return MaskNumbers(memory.settings().dropout.value_or(DropoutMask{})); }

}  // namespace

/// Of a block of a launch the first element's number is that in all of it.
void run_dropout(const Pointwise& p, const Memory& memory) {
    const MaskNumbers numbers = numbers_of(memory);
    const std::uint64_t before = memory.first_row() * p.cols;
    split_elements(p.rows * p.cols, [&](std::uint64_t begin, std::uint64_t end) {
        std::uint8_t* const mask = memory.as<std::uint8_t>(1) + begin;
        draw_mask(numbers, before + begin, end - begin, mask);
        dropout_loop(memory[0] + begin, mask, memory[2] + begin, end - begin, numbers.kept);
    });
}

/// Of both kernels: a product with the mask.
void run_dropout_backward(const Pointwise& p, const Memory& memory) {
    const float kept = numbers_of(memory).kept;
    split_elements(p.rows * p.cols, [&](std::uint64_t begin, std::uint64_t end) {
        dropout_loop(memory[0] + begin, memory.as<std::uint8_t>(1) + begin, memory[2] + begin, end - begin, kept);
    });
}

void run_bias_dropout_add(const Pointwise& p, const Memory& memory) {
    const MaskNumbers numbers = numbers_of(memory);
    const std::uint64_t before = memory.first_row() * p.cols;
    split_rows(p.rows, p.cols, [&](std::uint64_t begin, std::uint64_t end) {
        const std::size_t at = begin * p.cols;
        std::uint8_t* const mask = memory.as<std::uint8_t>(3) + at;
        draw_mask(numbers, before + at, (end - begin) * p.cols, mask);
        bias_dropout_add_loop(memory[0] + at, memory[1], memory[2] + at, mask, memory[4] + at, end - begin, p.cols,
                              numbers.kept);
    });
}

}  // namespace orrery::kernels::cpu
