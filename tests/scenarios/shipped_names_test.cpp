// Shipped scenarios by name: a file goes first, a bare name is found, what is neither is refused with the nearest.
#include <gtest/gtest.h>

#include <filesystem>

#include "scenarios/shipped.hpp"
#include "tests/scenarios/expect_error.hpp"

namespace orrery::scenarios {
namespace {

TEST(ShippedNames, AreFoundWithAndWithoutTheirEnding) {
    const auto files = shipped_files();
    EXPECT_GE(files.size(), 15U);
    for (const auto& file : files) {
        EXPECT_EQ(file_of(shipped_name(file)), file.string());
        EXPECT_EQ(file_of(shipped_name(file) + ".json"), file.string());
        EXPECT_EQ(file.stem().string().find("schema"), std::string::npos);
    }
}

TEST(ShippedNames, AFileOfTheSameNameGoesFirstAndPathsStay) {
    EXPECT_EQ(file_of("README.md"), "README.md");
    EXPECT_EQ(file_of("scenarios"), "scenarios");
    EXPECT_EQ(file_of("./gpt-tiny-cpu"), "./gpt-tiny-cpu");
    EXPECT_EQ(file_of("no-such-file.json"), "no-such-file.json");
    EXPECT_EQ(file_of(""), "");
}

TEST(ShippedNames, LecturesAreNamedWithTheirFolder) {
    EXPECT_TRUE(file_of("lectures/zero-7.5b").ends_with("lectures/zero-7.5b.json"));
    EXPECT_NE(file_of("lectures/zero-7.5b"), "lectures/zero-7.5b");
    const auto error = error_of([] { (void)file_of("lectures/zero-7.6b"); });
    ASSERT_TRUE(error);
    EXPECT_NE(error->hint().find("lectures/zero-7.5b"), std::string::npos) << error->hint();
    EXPECT_ANY_THROW((void)file_of("zero-7.5b"));
}

TEST(ShippedNames, WhatIsNeitherIsRefusedWithTheNearest) {
    const auto error = error_of([] { (void)file_of("gpt-tiny-cpx"); });
    ASSERT_TRUE(error);
    EXPECT_NE(error->message().find("\"gpt-tiny-cpx\" is neither"), std::string::npos) << error->message();
    EXPECT_NE(error->hint().find("gpt-tiny-cpu"), std::string::npos) << error->hint();
}

}  // namespace
}  // namespace orrery::scenarios
