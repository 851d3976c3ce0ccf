#include "kernels/number_format.hpp"

#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cmath>
#include <random>

#include "kernels/float16.hpp"

namespace orrery::kernels {
namespace {

constexpr std::array floats{Format::fp32, Format::tf32, Format::fp16, Format::bf16, Format::fp8, Format::fp8_e5m2};

double rounded(Format format, double value) {
    std::array<std::byte, 4> memory{};
    encode(format, value, memory.data());
    return decode(format, memory.data());
}

TEST(NumberFormat, KnownBitPatterns) {
    EXPECT_EQ(to_fp16(1.0), 0x3c00);
    EXPECT_EQ(to_fp16(-2.0), 0xc000);
    EXPECT_EQ(to_fp16(65504.0), 0x7bff);
    EXPECT_EQ(to_fp16(0x1p-24), 0x0001);  // smallest subnormal
    EXPECT_EQ(to_fp16(0x1p-14), 0x0400);  // smallest normal
    EXPECT_EQ(to_bf16(1.0), 0x3f80);
    EXPECT_EQ(to_bf16(-0.0), 0x8000);
    EXPECT_EQ(to_fp8(1.0), 0x38);
    EXPECT_EQ(to_fp8(448.0), 0x7e);
    EXPECT_EQ(to_fp8(0x1p-9), 0x01);
    EXPECT_EQ(to_fp8(-1.5), 0xbc);
    EXPECT_EQ(to_fp8_e5m2(1.0), 0x3c);
    EXPECT_EQ(to_fp8_e5m2(57344.0), 0x7b);
    EXPECT_EQ(to_fp8_e5m2(0x1p-16), 0x01);
    EXPECT_EQ(to_fp8_e5m2(-1.75), 0xbf);
    EXPECT_EQ(to_fp4(0.5), 0x1);
    EXPECT_EQ(to_fp4(-3.0), 0xd);
    EXPECT_EQ(to_fp4(6.0), 0x7);
}

TEST(NumberFormat, RoundsTiesToEven) {
    EXPECT_EQ(to_fp16(1.0 + 0x1p-11), 0x3c00);      // between 1 and 1 + 2^-10: the even one
    EXPECT_EQ(to_fp16(1.0 + 3 * 0x1p-11), 0x3c02);  // between odd 1 + 2^-10 and even 1 + 2^-9
    EXPECT_EQ(to_bf16(1.0 + 0x1p-8), 0x3f80);
    EXPECT_EQ(to_bf16(1.0 + 0x1p-8 + 0x1p-30), 0x3f81);  // no double rounding through fp32
    EXPECT_EQ(to_fp8(1.0 + 0x1p-4), 0x38);
    EXPECT_EQ(to_fp8(1.0 + 3 * 0x1p-4), 0x3a);
    EXPECT_EQ(to_fp4(2.5), 0x4);
    EXPECT_EQ(to_fp4(0.25), 0x0);
    EXPECT_EQ(rounded(Format::tf32, 1.0 + 0x1p-11), 1.0);
    EXPECT_EQ(rounded(Format::tf32, 1.0 + 3 * 0x1p-11), 1.0 + 0x1p-9);
}

TEST(NumberFormat, LeavesItsRangeAsDocumented) {
    EXPECT_EQ(to_fp16(65519.9), 0x7bff);
    EXPECT_EQ(to_fp16(65520.0), 0x7c00);  // infinity
    EXPECT_EQ(to_bf16(HUGE_VAL), 0x7f80);
    EXPECT_EQ(to_fp8(1e9), 0x7e);  // saturates
    EXPECT_EQ(to_fp8_e5m2(-1e9), 0xfb);
    EXPECT_EQ(from_fp8_e5m2(0x7c), HUGE_VAL);
    EXPECT_EQ(to_fp4(-1e9), 0xf);
    EXPECT_EQ(to_fp4(std::nan("")), 0x7);  // has none
    EXPECT_TRUE(std::isnan(from_fp8(0xff)));
    EXPECT_EQ(from_fp16(0xfc00), -HUGE_VAL);
    for (const Format format : floats) EXPECT_TRUE(std::isnan(rounded(format, std::nan("")))) << name(format);
}

TEST(NumberFormat, EveryPatternSurvivesDecodingAndEncoding) {
    for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
        const auto pattern = static_cast<std::uint16_t>(bits);
        if (!std::isnan(from_fp16(pattern))) {
            EXPECT_EQ(to_fp16(from_fp16(pattern)), pattern);
        }
        if (!std::isnan(from_bf16(pattern))) {
            EXPECT_EQ(to_bf16(from_bf16(pattern)), pattern);
        }
    }
    for (std::uint8_t bits = 0; bits < 0x10; ++bits) EXPECT_EQ(to_fp4(from_fp4(bits)), bits);
    for (std::uint32_t bits = 0; bits < 0x100; ++bits) {
        const auto pattern = static_cast<std::uint8_t>(bits);
        if (!std::isnan(from_fp8(pattern))) {
            EXPECT_EQ(to_fp8(from_fp8(pattern)), pattern);
        }
        if (std::isfinite(from_fp8_e5m2(pattern))) {
            EXPECT_EQ(to_fp8_e5m2(from_fp8_e5m2(pattern)), pattern);
        }
    }
}

TEST(NumberFormat, TheErrorIsAtMostTheUnitRoundoff) {
    constexpr std::uint64_t seed = 7;
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    std::uniform_real_distribution<double> logarithm(-4.0, 5.0);  // normal numbers of every format
    for (const Format format : floats) {
        double worst = 0;
        for (int i = 0; i < 20000; ++i) {
            const double value = std::exp(logarithm(random));
            worst = std::max(worst, std::fabs(rounded(format, value) - value) / value);
        }
        EXPECT_LE(worst, unit_roundoff(format)) << name(format);
        EXPECT_GT(worst, 0.8 * unit_roundoff(format)) << name(format);
    }
}

TEST(NumberFormat, WholeNumbersAreExact) {
    EXPECT_EQ(rounded(Format::int32, -123456789), -123456789);
    EXPECT_EQ(rounded(Format::mask, 1), 1);
    EXPECT_EQ(size_of(Format::mask), 1u);
    EXPECT_EQ(size_of(format_of(Dtype::bf16)), size_of(Dtype::bf16));
}

/// Without branches, as loops convert it, and with all the cases spelt out.
TEST(NumberFormat, HalvesInLoopsAreTheSame) {
    for (std::uint32_t bits = 0; bits <= 0xffff; ++bits) {
        const auto half = static_cast<std::uint16_t>(bits);
        const double expected = from_fp16(half);
        const float found = to_float(Float16{half});
        if (std::isnan(expected)) {
            ASSERT_TRUE(std::isnan(found) && std::isnan(to_float(to_float16(found)))) << bits;
            continue;
        }
        ASSERT_EQ(static_cast<double>(found), expected) << bits;
        ASSERT_EQ(std::signbit(found), std::signbit(expected)) << bits;
        ASSERT_EQ(to_float16(found).bits, half);
        // What lies next to it, and next to halfway between it and its neighbour.
        const float next = to_float(Float16{static_cast<std::uint16_t>(bits + 1)});
        for (const float at : {found, (found + next) / 2})
            for (const float near : {at, std::nextafter(at, 1e9f), std::nextafter(at, -1e9f)})
                ASSERT_TRUE(std::isnan(near) || to_float16(near).bits == to_fp16(static_cast<double>(near))) << near;
    }
    std::mt19937 random(7);
    for (int i = 0; i < 1'000'000; ++i) {
        const auto value = std::bit_cast<float>(static_cast<std::uint32_t>(random()));
        ASSERT_TRUE(std::isnan(value) || to_float16(value).bits == to_fp16(static_cast<double>(value))) << value;
    }
}

}  // namespace
}  // namespace orrery::kernels
