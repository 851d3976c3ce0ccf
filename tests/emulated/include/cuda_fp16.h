// What the project uses of NVIDIA's header of this name.
#pragma once

#include <cuda_runtime_api.h>

#include <bit>
#include <cmath>
#include <cstdint>

struct __half {
    std::uint16_t bits;
};
struct __half2 {
    __half x, y;
};

inline float __half2float(__half h) {
    constexpr std::uint32_t infinity = 0x7c00;
    const std::uint32_t sign = (h.bits & 0x8000u) << 16, rest = h.bits & 0x7fffu;
    if (rest >= infinity) return std::bit_cast<float>(sign | 0x7f800000u | rest << 13);
    // Exponents differ by 112 in their origin; the product makes subnormals normal.
    return std::bit_cast<float>(sign | std::bit_cast<std::uint32_t>(std::bit_cast<float>(rest << 13) * 0x1p112f));
}

/// To nearest, ties to even.
inline __half __float2half_rn(float x) {
    const auto bits = std::bit_cast<std::uint32_t>(x);
    const std::uint32_t sign = bits >> 16 & 0x8000u;
    std::uint32_t rest = bits & 0x7fffffffu;
    std::uint32_t found = 0;
    if (rest > 0x7f800000u) {
        found = 0x7e00;  // not a number
    } else if (rest >= 0x477ff000u) {
        found = 0x7c00;  // 65520 and more
    } else if (rest < 0x38800000u) {
        // Below 2^-14: added to 0.5, whose last bit is 2^-24, the smallest number of fp16.
        found = std::bit_cast<std::uint32_t>(std::bit_cast<float>(rest) + 0.5f) - std::bit_cast<std::uint32_t>(0.5f);
    } else {
        rest += 0xfffu + (rest >> 13 & 1u);
        found = (rest >> 13) - (112u << 10);
    }
    return {static_cast<std::uint16_t>(sign | found)};
}

inline __half2 __floats2half2_rn(float x, float y) { return {__float2half_rn(x), __float2half_rn(y)}; }
