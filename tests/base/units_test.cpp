#include "base/units.hpp"

#include <gtest/gtest.h>

#include <array>
#include <clocale>
#include <functional>
#include <limits>

#include "base/error.hpp"

namespace orrery {
namespace {

using namespace std::string_view_literals;

TEST(ParseBytes, KnowsDecimalAndBinaryPrefixes) {
    EXPECT_EQ(parse_bytes("512 B"), 512u);
    EXPECT_EQ(parse_bytes("1.5 MB"), 1'500'000u);
    EXPECT_EQ(parse_bytes("80 GiB"), 85'899'345'920u);
    EXPECT_EQ(parse_bytes("3 kB"), 3000u);
    EXPECT_EQ(parse_bytes("2 PiB"), 2'251'799'813'685'248u);
    EXPECT_EQ(parse_bytes("0 B"), 0u);
}

TEST(ParseBytes, TakesAnyNumberOfSpacesAndExponents) {
    EXPECT_EQ(parse_bytes("80GiB"), parse_bytes("80   GiB"));
    EXPECT_EQ(parse_bytes("1e3 B"), 1000u);
    EXPECT_EQ(parse_bytes(".5 KiB"), 512u);
}

TEST(ParseBytes, RoundsToWholeBytesAndLosesNoneOfAWholeNumber) {
    EXPECT_EQ(parse_bytes("1.4 B"), 1u);
    EXPECT_EQ(parse_bytes("1.6 B"), 2u);
    EXPECT_EQ(parse_bytes("9007199254740993 B"), 9'007'199'254'740'993u);  // 2^53 + 1: no double holds it
    EXPECT_EQ(parse_bytes("9223372036854775808 B"), 1ULL << 63);
    EXPECT_THROW(parse_bytes("9223372036854775809 B"), Error);
    EXPECT_THROW(parse_bytes("8193 PiB"), Error);
    EXPECT_THROW(parse_bytes("1e30 B"), Error);
}

TEST(ParseRate, TellsBitsFromBytes) {
    EXPECT_EQ(parse_bytes_per_second("400 Gb/s"), 50e9);
    EXPECT_EQ(parse_bytes_per_second("50 GB/s"), 50e9);
    EXPECT_EQ(parse_bytes_per_second("1 GiB/s"), 1073741824.0);
    EXPECT_EQ(parse_bytes_per_second("8 b/s"), 1.0);
    EXPECT_EQ(parse_bytes_per_second("1.555 TB/s"), 1.555e12);
}

TEST(ParseSeconds, IsExactInEveryUnit) {
    EXPECT_EQ(parse_seconds("40 ns"), 40e-9);
    EXPECT_EQ(parse_seconds("2 us"), 2e-6);
    EXPECT_EQ(parse_seconds("1.5 ms"), 1.5e-3);
    EXPECT_EQ(parse_seconds("3 s"), 3.0);
    EXPECT_EQ(parse_seconds("5 min"), 300.0);
    EXPECT_EQ(parse_seconds("2 h"), 7200.0);
    EXPECT_EQ(parse_seconds("90 days"), 7'776'000.0);
    EXPECT_EQ(parse_seconds("1 day"), 86'400.0);
    EXPECT_EQ(parse_seconds("0 s"), 0.0);
}

struct Parser {
    std::string_view kind, known_unit;
    std::function<void(std::string_view)> parse;
};

const std::array<Parser, 3> parsers{{{"bytes", "GiB", [](std::string_view text) { parse_bytes(text); }},
                                     {"rate", "Gb/s", [](std::string_view text) { parse_bytes_per_second(text); }},
                                     {"time", "us", [](std::string_view text) { parse_seconds(text); }}}};

/// Refused, with what was read and the units that would be understood.
void expect_refused(const Parser& parser, std::string_view text, std::string_view why) {
    SCOPED_TRACE(std::string(parser.kind) + " from \"" + std::string(text) + "\"");
    try {
        parser.parse(text);
        ADD_FAILURE() << "accepted";
    } catch (const Error& error) {
        EXPECT_NE(error.message().find(why), std::string::npos) << error.message();
        EXPECT_NE(error.hint().find(parser.known_unit), std::string::npos) << error.hint();
    }
}

TEST(Parse, EveryDimensionRefusesWhatIsNoQuantity) {
    constexpr std::string_view no_number = "does not begin with a number", no_unit = "unit is missing",
                               unknown = "unknown unit";
    for (const Parser& parser : parsers) {
        for (const auto text : {""sv, " "sv, "GB"sv, "B"sv, "s"sv, "+3 s"sv, " 3 s"sv, "\t3 s"sv, ". s"sv, "\0"sv})
            expect_refused(parser, text, no_number);
        for (const auto text : {"12"sv, "12 "sv, "0"sv, "1e3"sv, "1."sv}) expect_refused(parser, text, no_unit);
        for (const auto text :
             {"1 TiBs"sv, "0x10 B"sv, "3 parsec"sv, "3,5 s"sv, "1 000 B"sv, "3 s\0"sv, "3\0s"sv, "3 B B"sv, "3 us "sv,
              "3 GB\n"sv, "3 gb"sv, "3 KB"sv, "3 %"sv, "3 s/s"sv, "3 \xff"sv, "3 /s"sv, "3 kkB"sv})
            expect_refused(parser, text, unknown);
        for (const auto text : {"NaN s"sv, "nan B"sv, "inf GB"sv, "infinity s"sv})
            expect_refused(parser, text, "not finite");
        for (const auto text : {"-3 GB"sv, "-1 s"sv, "-0 B"sv, "-1e-9 TFLOP/s"sv})
            expect_refused(parser, text, "negative");
        for (const auto text : {"1e999 GB"sv, "1e999 s"sv, "1e-999 s"sv}) expect_refused(parser, text, "out of range");
    }
}

TEST(Parse, EveryDimensionRefusesTheUnitsOfTheOthers) {
    const Parser &bytes = parsers[0], &rate = parsers[1], &time = parsers[2];
    for (const auto text : {"4 Gb"sv, "4 GB/s"sv, "4 s"sv, "4 FLOP/s"sv}) expect_refused(bytes, text, "unknown unit");
    for (const auto text : {"4 Gb"sv, "4 GB"sv, "4 Gbps"sv, "4 s"sv}) expect_refused(rate, text, "unknown unit");
    for (const auto text : {"4 GB"sv, "4 ks"sv, "4 Kis"sv, "4 m"sv}) expect_refused(time, text, "unknown unit");
}

TEST(Parse, RatesRefuseZeroAndOverflow) {
    expect_refused(parsers[1], "0 GB/s", "more than zero");
    expect_refused(parsers[1], "1e308 GB/s", "out of range");
    expect_refused(parsers[2], "1e308 h", "out of range");
}

TEST(Parse, DoesNotHeedTheLocale) {
    // With a German locale strtod reads "1.5" as 1; where none is installed the test still holds for "C".
    const char* const german = std::setlocale(LC_ALL, "de_DE.UTF-8");
    EXPECT_EQ(parse_bytes("1.5 kB"), 1500u);
    EXPECT_EQ(format_seconds(1.5), "1.50 s") << (german ? german : "C");
    std::setlocale(LC_ALL, "C");
}

TEST(FormatSeconds, PrintsThreeDigitsInTheNaturalUnit) {
    EXPECT_EQ(format_seconds(1.84), "1.84 s");
    EXPECT_EQ(format_seconds(0.0021), "2.10 ms");
    EXPECT_EQ(format_seconds(271.607), "272 s");
    EXPECT_EQ(format_seconds(40e-9), "40.0 ns");
    EXPECT_EQ(format_seconds(2e-6), "2.00 us");
    EXPECT_EQ(format_seconds(1800), "30.0 min");
    EXPECT_EQ(format_seconds(7200), "2.00 h");
    EXPECT_EQ(format_seconds(34.2 * 86400), "34.2 days");
}

TEST(FormatSeconds, RoundsIntoTheNextUnit) {
    EXPECT_EQ(format_seconds(0.99949), "999 ms");
    EXPECT_EQ(format_seconds(0.9996), "1.00 s");
    EXPECT_EQ(format_seconds(999.4), "999 s");
    EXPECT_EQ(format_seconds(999.95), "16.7 min");
    EXPECT_EQ(format_seconds(99.96 * 60), "1.67 h");
    EXPECT_EQ(format_seconds(99.94), "99.9 s");
    EXPECT_EQ(format_seconds(99.96), "100 s");
}

TEST(FormatSeconds, PrintsExtremes) {
    EXPECT_EQ(format_seconds(0.0), "0 s");
    EXPECT_EQ(format_seconds(-0.0), "0 s");
    EXPECT_EQ(format_seconds(-0.0021), "-2.10 ms");
    EXPECT_EQ(format_seconds(1e-10), "0.100 ns");
    EXPECT_EQ(format_seconds(1e-15), "1.00e-06 ns");
    EXPECT_EQ(format_seconds(1e300), "1.16e+295 days");
    EXPECT_EQ(format_seconds(std::numeric_limits<double>::infinity()), "inf days");
    EXPECT_EQ(format_seconds(std::numeric_limits<double>::quiet_NaN()), "nan days");
}

TEST(FormatBytes, PrintsBinaryUnits) {
    EXPECT_EQ(format_bytes(85899345920.0), "80.0 GiB");
    EXPECT_EQ(format_bytes(0), "0 B");
    EXPECT_EQ(format_bytes(-0.0), "0 B");
    EXPECT_EQ(format_bytes(7), "7 B");
    EXPECT_EQ(format_bytes(999.95), "1000 B");
    EXPECT_EQ(format_bytes(1023.4), "1023 B");
    EXPECT_EQ(format_bytes(1024), "1.00 KiB");
    EXPECT_EQ(format_bytes(1023.99 * 1024), "1.00 MiB");
    EXPECT_EQ(format_bytes(1010.0 * 1024), "1010 KiB");
    EXPECT_EQ(format_bytes(-1536), "-1.50 KiB");
    EXPECT_EQ(format_bytes(0x1p63), "8192 PiB");
}

TEST(FormatCount, PrintsDecimalPrefixes) {
    EXPECT_EQ(format_count(569000), "569k");
    EXPECT_EQ(format_count(1.75e11), "175B");
    EXPECT_EQ(format_count(1.008e12), "1.01T");
    EXPECT_EQ(format_relative(-0.0321), "-3.2%");
    EXPECT_EQ(format_relative(0.5), "+50.0%");
    EXPECT_EQ(format_count(8), "8");
    EXPECT_EQ(format_count(1.5), "1.50");
    EXPECT_EQ(format_count(0), "0");
    EXPECT_EQ(format_count(-0.0), "0");
    EXPECT_EQ(format_count(-1536), "-1.54k");
    EXPECT_EQ(format_count(999.95), "1.00k");
    EXPECT_EQ(format_count(999'950), "1.00M");
    EXPECT_EQ(format_count(3.15e23), "3.15e+11T");
}

TEST(FormatGrouped, SetsCommasBetweenThousands) {
    EXPECT_EQ(format_grouped(0), "0");
    EXPECT_EQ(format_grouped(999), "999");
    EXPECT_EQ(format_grouped(1000), "1,000");
    EXPECT_EQ(format_grouped(193496), "193,496");
    EXPECT_EQ(format_grouped(18446744073709551615U), "18,446,744,073,709,551,615");
}

}  // namespace
}  // namespace orrery
