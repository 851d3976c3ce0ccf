// Functions of fp32 that the compiler vectorises at every level of x86-64: no branches, no calls.
#pragma once

#include <bit>
#include <cstdint>

namespace orrery::kernels::cpu {

/// exp, relative error below 4 unit roundoffs; arguments below -87 give e^-87 (1.6e-38), above 88 e^88.
/// x = n ln 2 + r, |r| <= ln 2 / 2 (Cody and Waite, ln 2 in two parts), e^r by its Taylor polynomial of degree 7,
/// 2^n by the exponent's bits. Adding 1.5 * 2^23 rounds to a whole number and leaves it in the low bits.
[[gnu::always_inline]] inline float exp_of(float x) {
    constexpr float rounding = 12582912.0f;
    x = x < -87.0f ? -87.0f : x;
    x = x > 88.0f ? 88.0f : x;
    const float shifted = x * 1.44269504f + rounding;
    const float n = shifted - rounding;
    const float r = (x - n * 0.693145752f) - n * 1.42860677e-6f;
    float p = 1.0f / 5040;
    p = p * r + 1.0f / 720;
    p = p * r + 1.0f / 120;
    p = p * r + 1.0f / 24;
    p = p * r + 1.0f / 6;
    p = p * r + 0.5f;
    p = p * r + 1.0f;
    p = p * r + 1.0f;
    const std::uint32_t power = (std::bit_cast<std::uint32_t>(shifted) << 23) + (127u << 23);
    return p * std::bit_cast<float>(power);
}

[[gnu::always_inline]] inline float sigmoid(float x) { return 1.0f / (1.0f + exp_of(-x)); }

/// sqrt(2 / pi) and the cubic's factor of GELU's tanh form; (1 + tanh(u)) / 2 is sigmoid(2 u).
inline constexpr float gelu_rate = 0.797884561f, gelu_cubic = 0.044715f;

[[gnu::always_inline]] inline float gelu(float t) {
    return t * sigmoid(2.0f * gelu_rate * (t + gelu_cubic * t * t * t));
}

[[gnu::always_inline]] inline float gelu_slope(float t) {
    const float s = sigmoid(2.0f * gelu_rate * (t + gelu_cubic * t * t * t));
    return s + t * 2.0f * s * (1.0f - s) * gelu_rate * (1.0f + 3.0f * gelu_cubic * t * t);
}

}  // namespace orrery::kernels::cpu
