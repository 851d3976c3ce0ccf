// What commands predict and say, for tests of them.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "tests/cli/process.hpp"

namespace orrery::cli {

/// The JSON of `orrery simulate` with so many --set; null where it fails, which fails the test.
nlohmann::json predicted(const std::string& scenario, const std::vector<std::string>& changes = {});

void expect_words(const std::string& text, const std::vector<std::string>& words);

}  // namespace orrery::cli
