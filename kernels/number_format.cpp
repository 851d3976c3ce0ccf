#include "kernels/number_format.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>

#include "base/enum_table.hpp"

namespace orrery::kernels {

namespace {

struct FormatRow {
    std::string_view name;
    std::uint32_t bytes;
    int mantissa_bits;
};

constexpr EnumTable<Format, FormatRow> rows{
    FormatRow{"fp32", 4, 23}, FormatRow{"tf32", 4, 10}, FormatRow{"fp16", 2, 10},
    FormatRow{"bf16", 2, 7},  FormatRow{"fp8", 1, 3},   FormatRow{"fp4", 1, 1},
    FormatRow{"int32", 4, 0}, FormatRow{"mask", 1, 0},  FormatRow{"fp8 e5m2", 1, 2},
};

/// A binary format without its sign: exponents from `least` (of the smallest normal number), `mantissa` bits.
struct Binary {
    int mantissa;
    int least;
};
constexpr Binary fp16{10, -14}, bf16{7, -126}, fp8{3, -6}, e5m2{2, -14}, fp4{1, 0};

const FormatRow& row(Format format) { return rows[format]; }

/// The bits of |value|, as a number that grows with it: the biased exponent above the mantissa. Subnormal numbers and
/// the carry into the next exponent come out by themselves. std::nearbyint rounds ties to even.
std::uint32_t magnitude(double value, Binary format) {
    const double size = std::fabs(value);
    if (size == 0) return 0;
    const int exponent = std::max(std::ilogb(size), format.least);
    const auto units = static_cast<std::uint32_t>(std::nearbyint(std::ldexp(size, format.mantissa - exponent)));
    return (static_cast<std::uint32_t>(exponent - format.least) << format.mantissa) + units;
}

/// The inverse: exponent and mantissa moved to where fp32 has them, then the exponent's bias corrected by a product,
/// which is exact for subnormal numbers too.
double from_magnitude(std::uint32_t bits, Binary format) {
    const float moved = std::bit_cast<float>(bits << (23 - format.mantissa));
    return static_cast<double>(moved) * std::bit_cast<double>(std::uint64_t(1023 + 126 + format.least) << 52);
}

float to_tf32(double value) {
    const auto single = static_cast<float>(value);
    if (!std::isfinite(single)) return single;
    const auto bits = std::bit_cast<std::uint32_t>(single);
    return std::bit_cast<float>((bits + 0xfffu + ((bits >> 13) & 1u)) & ~0x1fffu);
}

template <class T>
void store(T value, void* to) {
    std::memcpy(to, &value, sizeof(T));
}

template <class T>
T load(const void* from) {
    T value;
    std::memcpy(&value, from, sizeof(T));
    return value;
}

}  // namespace

Format format_of(Dtype dtype) { return static_cast<Format>(dtype); }
static_assert(static_cast<int>(Format::fp4) == static_cast<int>(Dtype::fp4), "Format begins with the dtypes");

std::uint32_t size_of(Format format) { return row(format).bytes; }
std::string_view name(Format format) { return row(format).name; }

double unit_roundoff(Format format) {
    const int bits = row(format).mantissa_bits;
    return bits == 0 ? 0.0 : std::ldexp(1.0, -bits - 1);
}

std::uint16_t to_fp16(double value) {
    const std::uint32_t sign = std::signbit(value) ? 0x8000u : 0u;
    if (std::isnan(value)) return static_cast<std::uint16_t>(sign | 0x7e00u);
    if (std::fabs(value) >= 65520.0) return static_cast<std::uint16_t>(sign | 0x7c00u);  // 65504 and half a step
    return static_cast<std::uint16_t>(sign | magnitude(value, fp16));
}

std::uint16_t to_bf16(double value) {
    const std::uint32_t sign = std::signbit(value) ? 0x8000u : 0u;
    if (std::isnan(value)) return static_cast<std::uint16_t>(sign | 0x7fc0u);
    if (std::fabs(value) >= 0x1.ffp127) return static_cast<std::uint16_t>(sign | 0x7f80u);
    return static_cast<std::uint16_t>(sign | magnitude(value, bf16));
}

std::uint8_t to_fp8(double value) {
    const std::uint32_t sign = std::signbit(value) ? 0x80u : 0u;
    if (std::isnan(value)) return static_cast<std::uint8_t>(sign | 0x7fu);
    if (std::fabs(value) >= 448.0) return static_cast<std::uint8_t>(sign | 0x7eu);
    return static_cast<std::uint8_t>(sign | magnitude(value, fp8));
}

std::uint8_t to_fp8_e5m2(double value) {
    const std::uint32_t sign = std::signbit(value) ? 0x80u : 0u;
    if (std::isnan(value)) return static_cast<std::uint8_t>(sign | 0x7fu);
    if (std::fabs(value) >= 57344.0) return static_cast<std::uint8_t>(sign | 0x7bu);
    return static_cast<std::uint8_t>(sign | magnitude(value, e5m2));
}

std::uint8_t to_fp4(double value) {
    const std::uint32_t sign = std::signbit(value) ? 0x8u : 0u;
    if (!(std::fabs(value) < 6.0)) return static_cast<std::uint8_t>((std::isnan(value) ? 0u : sign) | 0x7u);
    return static_cast<std::uint8_t>(sign | magnitude(value, fp4));
}

double from_fp16(std::uint16_t bits) {
    const double sign = (bits & 0x8000u) != 0 ? -1.0 : 1.0;
    const std::uint32_t size = bits & 0x7fffu;
    if (size > 0x7c00u) return std::nan("");
    return sign * (size == 0x7c00u ? HUGE_VAL : from_magnitude(size, fp16));
}

double from_bf16(std::uint16_t bits) {
    return static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16));
}

double from_fp8(std::uint8_t bits) {
    const double sign = (bits & 0x80u) != 0 ? -1.0 : 1.0;
    const std::uint32_t size = bits & 0x7fu;
    return size == 0x7fu ? std::nan("") : sign * from_magnitude(size, fp8);
}

double from_fp8_e5m2(std::uint8_t bits) {
    return from_fp16(static_cast<std::uint16_t>(bits << 8U));  // its upper half
}

double from_fp4(std::uint8_t bits) {
    const double sign = (bits & 0x8u) != 0 ? -1.0 : 1.0;
    return sign * from_magnitude(bits & 0x7u, fp4);
}

void encode(Format format, double value, void* to) {
    switch (format) {
        case Format::fp32: return store(static_cast<float>(value), to);
        case Format::tf32: return store(to_tf32(value), to);
        case Format::fp16: return store(to_fp16(value), to);
        case Format::bf16: return store(to_bf16(value), to);
        case Format::fp8: return store(to_fp8(value), to);
        case Format::fp4: return store(to_fp4(value), to);
        case Format::int32: return store(static_cast<std::int32_t>(value), to);
        case Format::mask: return store(static_cast<std::uint8_t>(value), to);
        case Format::fp8_e5m2: return store(to_fp8_e5m2(value), to);
    }
}

double decode(Format format, const void* from) {
    switch (format) {
        case Format::fp32:
        case Format::tf32: return static_cast<double>(load<float>(from));
        case Format::fp16: return from_fp16(load<std::uint16_t>(from));
        case Format::bf16: return from_bf16(load<std::uint16_t>(from));
        case Format::fp8: return from_fp8(load<std::uint8_t>(from));
        case Format::fp4: return from_fp4(load<std::uint8_t>(from));
        case Format::int32: return load<std::int32_t>(from);
        case Format::mask: return load<std::uint8_t>(from);
        case Format::fp8_e5m2: return from_fp8_e5m2(load<std::uint8_t>(from));
    }
    return 0;
}

}  // namespace orrery::kernels
