#include "tests/report/golden.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace orrery::report {

void expect_golden(std::string_view name, const std::string& text) {
    const std::filesystem::path file = std::filesystem::path("tests/report/golden") / name;
    if (std::getenv("UPDATE_GOLDEN") != nullptr) {
        std::ofstream(file, std::ios::binary) << text;
        return;
    }
    std::ifstream in(file, std::ios::binary);
    ASSERT_TRUE(in) << file << " is missing: run with UPDATE_GOLDEN=1 and review it";
    const std::string expected{std::istreambuf_iterator<char>(in), {}};
    EXPECT_EQ(text, expected) << "run with UPDATE_GOLDEN=1 and review the difference of " << file;
}

}  // namespace orrery::report
