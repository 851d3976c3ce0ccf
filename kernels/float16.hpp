// fp16 (IEEE 754 binary16) on the host.
#pragma once

#include <bit>
#include <cstdint>

#include "kernels/bfloat16.hpp"

namespace orrery::kernels {

/// As it lies in memory; arithmetic happens in fp32.
struct Float16 {
    std::uint16_t bits;
};

/// Without branches, so that loops over it are vectorised.
[[gnu::always_inline]] inline float to_float(Float16 value) {
    constexpr std::uint32_t exponents = 112u << 23;  // of fp32's bias over fp16's
    const std::uint32_t sign = static_cast<std::uint32_t>(value.bits & 0x8000u) << 16;
    const std::uint32_t size = static_cast<std::uint32_t>(value.bits & 0x7fffu) << 13;
    const std::uint32_t normal = size + exponents, none = size | 0x7f800000u;  // none: infinite, or not a number
    // A subnormal's digits behind those of the smallest normal number, which is then taken away.
    const float smallest = std::bit_cast<float>(113u << 23);
    const std::uint32_t subnormal = std::bit_cast<std::uint32_t>(std::bit_cast<float>(size + (113u << 23)) - smallest);
    const std::uint32_t finite = size < 0x400u << 13 ? subnormal : normal;
    return std::bit_cast<float>(sign | (size >= 0x7c00u << 13 ? none : finite));
}

/// Rounded to nearest, ties to even; infinite from 65,520 on; what is not a number stays none.
[[gnu::always_inline]] inline Float16 to_float16(float value) {
    const auto bits = std::bit_cast<std::uint32_t>(value);
    const std::uint32_t sign = bits >> 16 & 0x8000u, size = bits & 0x7fffffffu;
    const std::uint32_t rounded = (size - (112u << 23) + 0xfffu + (size >> 13 & 1u)) >> 13;
    // Below the normal numbers: added to one whose last digit is their smallest step, fp32 rounds as is wanted.
    const float step = std::bit_cast<float>(126u << 23);
    const std::uint32_t subnormal = std::bit_cast<std::uint32_t>(std::bit_cast<float>(size) + step) - (126u << 23);
    const std::uint32_t finite = size < 113u << 23 ? subnormal : rounded;
    const std::uint32_t beyond = size > 0x7f800000u ? 0x7e00u : 0x7c00u;
    return {static_cast<std::uint16_t>(sign | (size >= 143u << 23 ? beyond : finite))};
}

template <>
[[gnu::always_inline]] inline Float16 from_float<Float16>(float value) {
    return to_float16(value);
}

}  // namespace orrery::kernels
