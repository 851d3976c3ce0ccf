// Where a plan that cannot be executed is refused.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "base/error.hpp"
#include "run/support.hpp"

namespace orrery::run {

/// The pointer of what is thrown; empty: nothing is.
inline std::string refusal(const std::function<void()>& check) {
    try {
        check();
    } catch (const Error& error) {
        EXPECT_FALSE(error.hint().empty());
        return error.pointer();
    }
    return "";
}

inline std::string refusal(const Plan& plan) {
    return refusal([&] { require_executable(plan); });
}

}  // namespace orrery::run
