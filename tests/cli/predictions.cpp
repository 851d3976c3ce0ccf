#include "tests/cli/predictions.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace orrery::cli {

nlohmann::json predicted(const std::string& scenario, const std::vector<std::string>& changes) {
    std::vector<std::string> arguments{"simulate", scenario, "--json", "-"};
    for (const std::string& change : changes) arguments.insert(arguments.end(), {"--set", change});
    const Result result = orrery(arguments);
    EXPECT_EQ(result.exit, 0) << result.err;
    return result.exit == 0 ? nlohmann::json::parse(result.out) : nlohmann::json();
}

void expect_words(const std::string& text, const std::vector<std::string>& words) {
    for (const std::string& word : words)
        EXPECT_NE(text.find(word), std::string::npos) << word << " is missing from\n" << text;
}

}  // namespace orrery::cli
