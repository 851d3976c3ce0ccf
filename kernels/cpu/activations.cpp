#include "kernels/cpu/clones.hpp"
#include "kernels/cpu/functions.hpp"
#include "kernels/cpu/parallel.hpp"
#include "kernels/cpu/pointwise.hpp"
#include "kernels/cpu/vector_math.hpp"

namespace orrery::kernels::cpu {

namespace {

ORRERY_CLONED void gelu_loop(const float* __restrict x, const float* __restrict bias, float* __restrict y,
                             std::size_t rows, std::size_t cols) {
    for (std::size_t r = 0; r < rows; ++r)
        for (std::size_t c = 0; c < cols; ++c) y[r * cols + c] = gelu(x[r * cols + c] + bias[c]);
}

ORRERY_CLONED void gelu_backward_loop(const float* __restrict x, const float* __restrict bias,
                                      const float* __restrict dy, float* __restrict dx, std::size_t rows,
                                      std::size_t cols) {
    for (std::size_t r = 0; r < rows; ++r)
        for (std::size_t c = 0; c < cols; ++c)
            dx[r * cols + c] = dy[r * cols + c] * gelu_slope(x[r * cols + c] + bias[c]);
}

ORRERY_CLONED void swiglu_loop(const float* __restrict x, float* __restrict y, std::size_t rows, std::size_t cols) {
    for (std::size_t r = 0; r < rows; ++r) {
        const float *gate = x + 2 * r * cols, *up = gate + cols;
        for (std::size_t c = 0; c < cols; ++c) y[r * cols + c] = gate[c] * sigmoid(gate[c]) * up[c];
    }
}

ORRERY_CLONED void swiglu_backward_loop(const float* __restrict x, const float* __restrict dy, float* __restrict dx,
                                        std::size_t rows, std::size_t cols) {
    for (std::size_t r = 0; r < rows; ++r) {
        const float *gate = x + 2 * r * cols, *up = gate + cols, *gradient = dy + r * cols;
        float* __restrict d_gate = dx + 2 * r * cols, * __restrict d_up = d_gate + cols;
        for (std::size_t c = 0; c < cols; ++c) {
            const float s = sigmoid(gate[c]);
            d_gate[c] = gradient[c] * up[c] * s * (1.0f + gate[c] * (1.0f - s));
            d_up[c] = gradient[c] * gate[c] * s;
        }
    }
}

ORRERY_CLONED void relu_loop(const float* __restrict x, float* __restrict y, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) y[i] = x[i] > 0.0f ? x[i] : 0.0f;
}

ORRERY_CLONED void relu_backward_loop(const float* __restrict y, const float* __restrict dy, float* __restrict dx,
                                      std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) dx[i] = y[i] > 0.0f ? dy[i] : 0.0f;
}

}  // namespace

void run_gelu(const Pointwise& p, const Memory& memory) {
    split_rows(p.rows, p.cols, [&](std::uint64_t begin, std::uint64_t end) {
        const std::size_t at = begin * p.cols;
        if (const Function function = memory.settings().function; function != Function::own)
            return apply(function, BiasedRows{memory[0] + at, memory[1], nullptr, memory[2] + at, end - begin, p.cols});
        gelu_loop(memory[0] + at, memory[1], memory[2] + at, end - begin, p.cols);
    });
}

void run_gelu_backward(const Pointwise& p, const Memory& memory) {
    split_rows(p.rows, p.cols, [&](std::uint64_t begin, std::uint64_t end) {
        const std::size_t at = begin * p.cols;
        if (const Function function = memory.settings().function; function != Function::own)
            return apply(function,
                         BiasedRows{memory[0] + at, memory[1], memory[2] + at, memory[3] + at, end - begin, p.cols});
        gelu_backward_loop(memory[0] + at, memory[1], memory[2] + at, memory[3] + at, end - begin, p.cols);
    });
}

void run_swiglu(const Pointwise& p, const Memory& memory) {
    split_rows(p.rows, p.cols, [&](std::uint64_t begin, std::uint64_t end) {
        const std::size_t at = begin * p.cols;
        if (const Function function = memory.settings().function; function != Function::own)
            return apply(function, GatedRows{memory[0] + 2 * at, nullptr, memory[1] + at, end - begin, p.cols});
        swiglu_loop(memory[0] + 2 * at, memory[1] + at, end - begin, p.cols);
    });
}

void run_swiglu_backward(const Pointwise& p, const Memory& memory) {
    split_rows(p.rows, p.cols, [&](std::uint64_t begin, std::uint64_t end) {
        const std::size_t at = begin * p.cols;
        if (const Function function = memory.settings().function; function != Function::own)
            return apply(function,
                         GatedRows{memory[0] + 2 * at, memory[1] + at, memory[2] + 2 * at, end - begin, p.cols});
        swiglu_backward_loop(memory[0] + 2 * at, memory[1] + at, memory[2] + 2 * at, end - begin, p.cols);
    });
}

void run_relu(const Pointwise& p, const Memory& memory) {
    split_elements(p.rows * p.cols, [&](std::uint64_t begin, std::uint64_t end) {
        relu_loop(memory[0] + begin, memory[1] + begin, end - begin);
    });
}

void run_relu_backward(const Pointwise& p, const Memory& memory) {
    split_elements(p.rows * p.cols, [&](std::uint64_t begin, std::uint64_t end) {
        relu_backward_loop(memory[0] + begin, memory[1] + begin, memory[2] + begin, end - begin);
    });
}

}  // namespace orrery::kernels::cpu
