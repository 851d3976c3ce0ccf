#include <numbers>

#include "kernels/dropout_mask.hpp"
#include "kernels/operands.hpp"
#include "kernels/reference/parts.hpp"

namespace orrery::kernels {

namespace {

constexpr double gelu_cubic = 0.044715;
const double gelu_rate = std::sqrt(2.0 / std::numbers::pi);

double gelu_inner(double t) { return std::tanh(gelu_rate * (t + gelu_cubic * t * t * t)); }

double gelu_slope(double t) {
    const double tanh = gelu_inner(t);
    return 0.5 * (1 + tanh) + 0.5 * t * (1 - tanh * tanh) * gelu_rate * (1 + 3 * gelu_cubic * t * t);
}

double sigmoid(double t) { return 1.0 / (1.0 + std::exp(-t)); }

double swiglu_backward(const Pointwise& p, Before v, std::uint64_t index) {
    const std::uint64_t r = index / (2 * p.cols), within = index % (2 * p.cols), c = within % p.cols;
    const double gate = v[0][r * 2 * p.cols + c], up = v[0][r * 2 * p.cols + p.cols + c], dy = v[1][r * p.cols + c];
    const double s = sigmoid(gate);
    return within < p.cols ? dy * up * s * (1 + gate * (1 - s)) : dy * gate * s;
}

double rotated(const Pointwise& p, Before v, std::uint64_t index) {
    const std::uint64_t head = rope_head(p.cols), row = index / p.cols, pair = index % p.cols % head / 2;
    const std::uint64_t at = row % std::min(p.rows, rope_positions) * (head / 2) + pair;
    const double cos = v[1][at], sin = p.kind == PointwiseKind::rope ? v[2][at] : -v[2][at];
    return index % 2 == 0 ? v[0][index] * cos - v[0][index + 1] * sin : v[0][index - 1] * sin + v[0][index] * cos;
}

double softmax(const Pointwise& p, Before v, std::uint64_t index) {
    const std::uint64_t at = index / p.cols * p.cols;
    const auto scaled = [&](std::uint64_t c) { return softmax_scale * v[0][at + c]; };
    return std::exp(scaled(index - at) - log_sum_exp(p.cols, scaled));
}

double softmax_backward(const Pointwise& p, Before v, std::uint64_t index) {
    const std::uint64_t at = index / p.cols * p.cols;
    const double dot = sum(p.cols, [&](std::uint64_t c) { return v[0][at + c] * v[1][at + c]; });
    return softmax_scale * v[0][index] * (v[1][index] - dot);
}

double softmax_merge(const Pointwise& p, Before v, std::uint64_t index) {
    const std::uint64_t at = index % p.cols / rope_head(p.cols) * p.rows + index / p.cols;
    return v[3][index] + std::exp(v[1][at] - v[2][at]) * v[0][index];
}

/// The default mask.
double kept(std::uint64_t i) { return MaskNumbers(DropoutMask{}).keeps(i) ? 1 : 0; }

double adam(Before v, std::size_t operand, std::uint64_t i) {
    const Adam& s = adam_settings;
    const double g = v[0][i], m = s.b1 * v[2][i] + (1 - s.b1) * g, second = s.b2 * v[3][i] + (1 - s.b2) * g * g;
    if (operand == 2) return m;
    if (operand == 3) return second;
    const double m_corrected = m / (1 - std::pow(s.b1, s.step)), v_corrected = second / (1 - std::pow(s.b2, s.step));
    return v[1][i] - s.rate * (m_corrected / (std::sqrt(v_corrected) + s.epsilon) + s.decay * v[1][i]);
}

}  // namespace

double reference_pointwise(const Pointwise& p, Before v, std::size_t operand, std::uint64_t i) {
    const std::uint64_t c = i % p.cols, r = i / p.cols;
    switch (p.kind) {
        using enum PointwiseKind;
        case layernorm:
        case layernorm_backward:
        case rmsnorm:
        case rmsnorm_backward: return reference_norm(p, v, operand, i);
        case softmax: return kernels::softmax(p, v, i);
        case softmax_backward: return kernels::softmax_backward(p, v, i);
        case log_add_exp: return log_sum_exp(2, [&](std::uint64_t k) { return v[k][i]; });
        case softmax_merge: return kernels::softmax_merge(p, v, i);
        case gelu: return 0.5 * (v[0][i] + v[1][c]) * (1 + gelu_inner(v[0][i] + v[1][c]));
        case gelu_backward: return v[2][i] * gelu_slope(v[0][i] + v[1][c]);
        case swiglu: {
            const double gate = v[0][r * 2 * p.cols + c];
            return gate * sigmoid(gate) * v[0][r * 2 * p.cols + p.cols + c];
        }
        case swiglu_backward: return kernels::swiglu_backward(p, v, i);
        case relu: return std::max(v[0][i], 0.0);
        case relu_backward: return v[0][i] > 0 ? v[1][i] : 0.0;
        case dropout: return operand == 1 ? kept(i) : kept(i) * v[0][i] / keep_probability;
        case bias_dropout_add:
            return operand == 3 ? kept(i) : v[2][i] + kept(i) * (v[0][i] + v[1][c]) / keep_probability;
        case dropout_backward:
        case bias_dropout_add_backward: return v[1][i] * v[0][i] / keep_probability;
        case add: return v[0][i] + v[1][i];
        case scale: return scale_factor * v[0][i];
        case rope:
        case rope_backward: return rotated(p, v, i);
        case bias_gradient: return sum(p.rows, [&](std::uint64_t row) { return v[0][row * p.cols + i]; });
        case transpose: return v[0][i % p.rows * p.cols + i / p.rows];
        case cast: return v[0][i];
        case fill: return 0.0;
        case adam: return kernels::adam(v, operand, i);
        case sum_of_squares: return sum(p.rows * p.cols, [&](std::uint64_t at) { return v[0][at] * v[0][at]; });
        default: return reference_tokens(p, v, operand, i);
    }
}

}  // namespace orrery::kernels
