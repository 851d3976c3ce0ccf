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
        EXPECT_EQ(file_of(file.stem().string()), file.string());
        EXPECT_EQ(file_of(file.filename().string()), file.string());
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

TEST(ShippedNames, WhatIsNeitherIsRefusedWithTheNearest) {
    const auto error = error_of([] { (void)file_of("gpt-tiny-cpx"); });
    ASSERT_TRUE(error);
    EXPECT_NE(error->message().find("\"gpt-tiny-cpx\" is neither"), std::string::npos) << error->message();
    EXPECT_NE(error->hint().find("gpt-tiny-cpu"), std::string::npos) << error->hint();
}

}  // namespace
}  // namespace orrery::scenarios
