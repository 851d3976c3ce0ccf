// Number formats as they lie in memory, and their conversion from and to double.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "kernels/kernel.hpp"

namespace orrery::kernels {

/// tf32 occupies four bytes of which the low 13 bits of the mantissa are ignored; fp8 is e4m3 as in OCP OFP8 1.0
/// (no infinity, largest value 448, NaN is 0x7f and 0xff); fp4 e2m1 as in OCP MX 1.0 (neither infinity nor NaN, largest
/// value 6), one in the low half of a byte. int32, mask (one byte, 0 or 1) and fp8_e5m2 are no dtypes of kernels: the
/// last is OFP8 1.0's other format (largest value 57344), which gradients beside fp8 operands have.
enum class Format : std::uint8_t { fp32, tf32, fp16, bf16, fp8, fp4, int32, mask, fp8_e5m2 };

/// The format of a kernel's operands.
Format format_of(Dtype dtype);
/// Bytes of one element.
std::uint32_t size_of(Format format);
std::string_view name(Format format);
/// Distance from 1 to the next larger number, halved: the largest relative error of rounding to nearest. Zero for
/// int32 and mask.
double unit_roundoff(Format format);

/// Rounded to nearest, ties to even. fp16 overflows to infinity as IEEE 754 says; fp8 saturates at 448 and at 57344, as
/// the conversions of cuda_fp8.h do (__NV_SATFINITE), fp4 at 6, and takes NaN for it as cuda_fp4.h's do. int32 and mask
/// take whole numbers.
void encode(Format format, double value, void* to);
/// Exact.
double decode(Format format, const void* from);

std::uint16_t to_fp16(double value);
std::uint16_t to_bf16(double value);
std::uint8_t to_fp8(double value);
std::uint8_t to_fp8_e5m2(double value);
std::uint8_t to_fp4(double value);
double from_fp16(std::uint16_t bits);
double from_bf16(std::uint16_t bits);
double from_fp8(std::uint8_t bits);
double from_fp8_e5m2(std::uint8_t bits);
double from_fp4(std::uint8_t bits);

}  // namespace orrery::kernels
