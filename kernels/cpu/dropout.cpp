#include "kernels/cpu/clones.hpp"
#include "kernels/cpu/parallel.hpp"
#include "kernels/cpu/pointwise.hpp"
#include "kernels/operands.hpp"

namespace orrery::kernels::cpu {

namespace {

constexpr auto unkept = static_cast<float>(1.0 / keep_probability);

ORRERY_CLONED void dropout_loop(const float* __restrict x, const std::uint8_t* __restrict mask, float* __restrict y,
                                std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) y[i] = x[i] * (static_cast<float>(mask[i]) * unkept);
}

ORRERY_CLONED void bias_dropout_add_loop(const float* __restrict x, const float* __restrict bias,
                                         const float* __restrict residual, const std::uint8_t* __restrict mask,
                                         float* __restrict y, std::size_t rows, std::size_t cols) {
    for (std::size_t r = 0; r < rows; ++r)
        for (std::size_t c = 0; c < cols; ++c) {
            const std::size_t i = r * cols + c;
            y[i] = residual[i] + (x[i] + bias[c]) * (static_cast<float>(mask[i]) * unkept);
        }
}

}  // namespace

/// Forward and both backwards: a product with the mask.
void run_dropout(const Pointwise& p, const Memory& memory) {
    split_elements(p.rows * p.cols, [&](std::uint64_t begin, std::uint64_t end) {
        dropout_loop(memory[0] + begin, memory.as<std::uint8_t>(1) + begin, memory[2] + begin, end - begin);
    });
}

void run_bias_dropout_add(const Pointwise& p, const Memory& memory) {
    split_rows(p.rows, p.cols, [&](std::uint64_t begin, std::uint64_t end) {
        const std::size_t at = begin * p.cols;
        bias_dropout_add_loop(memory[0] + at, memory[1], memory[2] + at, memory.as<std::uint8_t>(3) + at,
                              memory[4] + at, end - begin, p.cols);
    });
}

}  // namespace orrery::kernels::cpu
