// Checks on the error that a piece of code must throw.
#pragma once

#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "base/error.hpp"

namespace orrery::scenarios {

/// The Error that the code throws; nothing when it throws none.
template <class Code>
std::optional<Error> error_of(Code code) {
    try {
        code();
    } catch (const Error& error) {
        return error;
    }
    return std::nullopt;
}

/// The code throws an Error at that pointer, whose message holds `mention` and whose hint is not empty.
template <class Code>
void expect_error(Code code, const std::string& pointer, const std::string& mention, const std::string& in_hint = "") {
    const auto error = error_of(code);
    ASSERT_TRUE(error) << "nothing was thrown; expected an error at \"" << pointer << '"';
    EXPECT_EQ(error->pointer(), pointer) << error->what();
    EXPECT_NE(error->message().find(mention), std::string::npos) << error->what() << "\nlacks: " << mention;
    EXPECT_NE(error->hint().find(in_hint), std::string::npos) << error->what() << "\nlacks: " << in_hint;
    EXPECT_FALSE(error->hint().empty()) << error->what();
}

}  // namespace orrery::scenarios
