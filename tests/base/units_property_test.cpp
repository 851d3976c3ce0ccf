#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <string>

#include "base/error.hpp"
#include "base/units.hpp"

namespace orrery {
namespace {

constexpr std::uint64_t seed = 20210823;
constexpr int cases = 20000;
constexpr double three_digits = 0.005001;  // half a unit of the third digit of 1.00, and the rounding of doubles

/// Log-uniform between 10^low and 10^high.
double spread(std::mt19937_64& random, double low, double high) {
    return std::pow(10.0, std::uniform_real_distribution(low, high)(random));
}

TEST(UnitsProperty, ParsingWhatWasFormattedGivesItBack) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    for (int i = 0; i < cases; ++i) {
        const double seconds = spread(random, -9, 8);
        EXPECT_NEAR(parse_seconds(format_seconds(seconds)) / seconds, 1.0, three_digits) << format_seconds(seconds);
        const double bytes = std::round(spread(random, 0, 18));
        EXPECT_NEAR(static_cast<double>(parse_bytes(format_bytes(bytes))) / bytes, 1.0, three_digits)
            << format_bytes(bytes);
    }
}

TEST(UnitsProperty, FormattingIsIdempotent) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    for (int i = 0; i < cases; ++i) {
        const std::string time = format_seconds(spread(random, -8, 5));
        if (time.ends_with("min") || time.ends_with("h") || time.ends_with("days")) continue;  // not decimal
        EXPECT_EQ(format_seconds(parse_seconds(time)), time);
    }
}

TEST(UnitsProperty, WholeBytesSurviveExactly) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    for (int i = 0; i < cases; ++i) {
        const std::uint64_t bytes = random() >> (1 + i % 63);
        EXPECT_EQ(parse_bytes(std::to_string(bytes) + " B"), bytes);
    }
}

TEST(UnitsProperty, RandomTextIsReadOrRefusedButNeverCrashes) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    using namespace std::string_view_literals;
    constexpr auto alphabet = "0123456789.eE+-xX BbkKMGTPi/sFLOPnumhday\0\xff\n"sv;
    int refused = 0;
    for (int i = 0; i < cases; ++i) {
        std::string text;
        for (std::uint64_t n = random() % 9; n > 0; --n) text += alphabet[random() % alphabet.size()];
        try {
            EXPECT_GE(parse_seconds(text), 0.0) << text;
        } catch (const Error& error) {
            EXPECT_FALSE(error.hint().empty());
            ++refused;
        }
    }
    EXPECT_GT(refused, cases / 2);
    EXPECT_LT(refused, cases);
}

}  // namespace
}  // namespace orrery
