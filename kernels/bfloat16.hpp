// bf16 on the host: the upper half of an fp32.
#pragma once

#include <bit>
#include <cstdint>

namespace orrery::kernels {

/// As it lies in memory; arithmetic happens in fp32.
struct Bfloat16 {
    std::uint16_t bits;
};

[[gnu::always_inline]] inline float to_float(Bfloat16 value) {
    return std::bit_cast<float>(static_cast<std::uint32_t>(value.bits) << 16);
}
[[gnu::always_inline]] inline float to_float(float value) { return value; }

/// Rounded to nearest, ties to even; what is not a number stays none.
[[gnu::always_inline]] inline Bfloat16 to_bfloat16(float value) {
    const auto bits = std::bit_cast<std::uint32_t>(value);
    const std::uint32_t rounded = bits + 0x7fffu + ((bits >> 16) & 1u), quiet = bits | 0x400000u;
    const bool none = (bits & 0x7fffffffu) > 0x7f800000u;
    return {static_cast<std::uint16_t>((none ? quiet : rounded) >> 16)};
}

template <class T>
T from_float(float value);
template <>
inline float from_float<float>(float value) {
    return value;
}
template <>
[[gnu::always_inline]] inline Bfloat16 from_float<Bfloat16>(float value) {
    return to_bfloat16(value);
}

}  // namespace orrery::kernels
