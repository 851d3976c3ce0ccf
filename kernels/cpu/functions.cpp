// Activations that stand in the place of GELU, behind a bias, and of SiLU, in a gated one (Settings::function).
#include "kernels/cpu/functions.hpp"

#include <stdexcept>

#include "kernels/cpu/clones.hpp"
#include "kernels/cpu/vector_math.hpp"

namespace orrery::kernels::cpu {

namespace {

struct Gelu {
    [[gnu::always_inline]] static float value(float t) { return gelu(t); }
    [[gnu::always_inline]] static float slope(float t) { return gelu_slope(t); }
};
struct Silu {
    [[gnu::always_inline]] static float value(float t) { return t * sigmoid(t); }
    [[gnu::always_inline]] static float slope(float t) {
        const float s = sigmoid(t);
        return s * (1.0f + t * (1.0f - s));
    }
};
struct Relu {
    [[gnu::always_inline]] static float value(float t) { return t > 0.0f ? t : 0.0f; }
    [[gnu::always_inline]] static float slope(float t) { return t > 0.0f ? 1.0f : 0.0f; }
};
struct SquaredRelu {
    [[gnu::always_inline]] static float value(float t) { return t > 0.0f ? t * t : 0.0f; }
    [[gnu::always_inline]] static float slope(float t) { return t > 0.0f ? 2.0f * t : 0.0f; }
};

/// y = f(x + bias), or with dy its gradient.
template <class F>
[[gnu::always_inline]] inline void biased(const BiasedRows& a) {
    for (std::size_t r = 0; r < a.rows; ++r) {
        const float* x = a.x + r * a.cols;
        float* __restrict y = a.y + r * a.cols;
        const float* __restrict bias = a.bias;
        if (a.dy == nullptr) {
            for (std::size_t c = 0; c < a.cols; ++c) y[c] = F::value(x[c] + bias[c]);
        } else {
            const float* dy = a.dy + r * a.cols;
            for (std::size_t c = 0; c < a.cols; ++c) y[c] = dy[c] * F::slope(x[c] + bias[c]);
        }
    }
}

/// y = f(gate) up, or with dy the gradients of both.
template <class F>
[[gnu::always_inline]] inline void gated(const GatedRows& a) {
    for (std::size_t r = 0; r < a.rows; ++r) {
        const float *gate = a.x + 2 * r * a.cols, *up = gate + a.cols;
        float* __restrict y = a.y + (a.dy == nullptr ? 1 : 2) * r * a.cols;
        if (a.dy == nullptr) {
            for (std::size_t c = 0; c < a.cols; ++c) y[c] = F::value(gate[c]) * up[c];
        } else {
            const float* dy = a.dy + r * a.cols;
            float* __restrict d_up = y + a.cols;
            for (std::size_t c = 0; c < a.cols; ++c) {
                y[c] = dy[c] * up[c] * F::slope(gate[c]);
                d_up[c] = dy[c] * F::value(gate[c]);
            }
        }
    }
}

ORRERY_CLONED void biased_silu(const BiasedRows& a) { biased<Silu>(a); }
ORRERY_CLONED void biased_squared_relu(const BiasedRows& a) { biased<SquaredRelu>(a); }
ORRERY_CLONED void gated_gelu(const GatedRows& a) { gated<Gelu>(a); }
ORRERY_CLONED void gated_relu(const GatedRows& a) { gated<Relu>(a); }
ORRERY_CLONED void gated_squared_relu(const GatedRows& a) { gated<SquaredRelu>(a); }

}  // namespace

void apply(Function function, const BiasedRows& rows) {
    if (function == Function::silu) return biased_silu(rows);
    if (function == Function::squared_relu) return biased_squared_relu(rows);
    throw std::logic_error("GELU and ReLU are kernels of their own");
}

void apply(Function function, const GatedRows& rows) {
    if (function == Function::gelu) return gated_gelu(rows);
    if (function == Function::relu) return gated_relu(rows);
    if (function == Function::squared_relu) return gated_squared_relu(rows);
    throw std::logic_error("a gated SiLU is a kernel of its own");
}

}  // namespace orrery::kernels::cpu
