#include "planning/sweep/values.hpp"

#include <gtest/gtest.h>

#include "base/error.hpp"

namespace orrery::planning {
namespace {

using Values = std::vector<std::string>;

TEST(Values, ListsAndRanges) {
    EXPECT_EQ(parse_values("1,2, 4"), (Values{"1", "2", "4"}));
    EXPECT_EQ(parse_values("1..8 x2"), (Values{"1", "2", "4", "8"}));
    EXPECT_EQ(parse_values("1..8x2"), (Values{"1", "2", "4", "8"}));
    EXPECT_EQ(parse_values("0..5 +2"), (Values{"0", "2", "4"}));
    EXPECT_EQ(parse_values("100..800 Gb/s x2"), (Values{"100 Gb/s", "200 Gb/s", "400 Gb/s", "800 Gb/s"}));
    EXPECT_EQ(parse_values("100 Gb/s..200 Gb/s +50,1 Tb/s"), (Values{"100 Gb/s", "150 Gb/s", "200 Gb/s", "1 Tb/s"}));
    EXPECT_EQ(parse_values("1..2 x1.189207115002721"),
              (Values{"1", "1.189207115", "1.41421356237", "1.68179283051", "2"}));
    EXPECT_EQ(parse_values("0.1..0.3 +0.1"), (Values{"0.1", "0.2", "0.3"}));
    EXPECT_EQ(parse_values("16..16 x2"), (Values{"16"}));
    EXPECT_EQ(parse_values("512..2048", Stepless::doubled), (Values{"512", "1024", "2048"}));
}

TEST(Values, TextsStayAsTheyAre) {
    EXPECT_EQ(parse_values("dgx-a100,superpod-a100"), (Values{"dgx-a100", "superpod-a100"}));
    EXPECT_EQ(parse_values("../models/a.json,\"0-3,8-11\",[\"leaf 0\",\"leaf 1\"]"),
              (Values{"../models/a.json", "\"0-3,8-11\"", "[\"leaf 0\",\"leaf 1\"]"}));
    EXPECT_EQ(parse_values("null,true"), (Values{"null", "true"}));
}

TEST(Values, WhatIsNoListOfValuesIsRefusedWithARemedy) {
    for (const char* text : {"", " ", "1,,2", "1,", "8..1 x2", "1..8", "1..8 x1", "1..8 x0.5", "1..8 +0", "1..8 +-1",
                             "0..8 x2", "1 GB..2 MB x2", "1..1e12 +1", "1..8 y2", "1..8 x", "1e400..2 x2"}) {
        try {
            const Values values = parse_values(text);
            // What begins with no number that there is stays a text; the scenario refuses it.
            EXPECT_EQ(std::string_view(text), "1e400..2 x2") << text;
        } catch (const Error& error) {
            EXPECT_NE(error.hint(), "") << text;
        }
    }
    try {
        (void)parse_values("8..1 x2");
        FAIL();
    } catch (const Error& error) {
        EXPECT_STREQ(error.what(), "\"8..1 x2\" is an empty range\n  hint: begin with the smaller number: 1..8");
    }
}

}  // namespace
}  // namespace orrery::planning
