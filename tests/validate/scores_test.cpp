// README's scores, held against what the carried set scores today: README cannot rot.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <map>
#include <regex>

#include "base/statistics.hpp"
#include "validate/run.hpp"

namespace orrery::validate {
namespace {

constexpr double points = 0.5;  // of a percentage that README prints

struct Printed {
    std::size_t predicted = 0, rows = 0;
    double median = 0;
    std::string because;
};

/// "| vtrain_single | 1440 / 1440 | 12.8% | ..." and "| whale | 75 | ratio only (49), ... |"
std::map<std::string, Printed> printed_sources() {
    static const std::regex scored(R"(^\| (\w+) \| (\d+) / (\d+) \| ([\d.]+)% \|.*)"),
        skipped(R"(^\| (\w+) \| (\d+) \| ([a-zA-Z].*) \|$)");
    std::map<std::string, Printed> out;
    std::ifstream readme("README.md");
    std::smatch found;
    for (std::string line; std::getline(readme, line);) {
        if (std::regex_match(line, found, scored))
            out[found[1]] = {std::stoul(found[2]), std::stoul(found[3]), std::stod(found[4]), ""};
        else if (std::regex_match(line, found, skipped))
            out[found[1]] = {0, std::stoul(found[2]), 0, found[3]};
    }
    return out;
}

double number_in_readme(const std::string& pattern) {
    std::ifstream readme("README.md");
    const std::string text{std::istreambuf_iterator<char>(readme), {}};
    std::smatch found;
    if (!std::regex_search(text, found, std::regex(pattern))) {
        ADD_FAILURE() << "README.md does not say " << pattern;
        return 0;
    }
    return std::stod(found[1]);
}

const Report& carried() {
    static const Report report = validate_files(carried_files(), simulator());
    return report;
}

TEST(Scores, AreThoseThatTheReadmePrints) {
    const auto printed = printed_sources();
    for (const SourceScore& score : carried().steps.sources) {
        SCOPED_TRACE(score.source);
        ASSERT_TRUE(printed.contains(score.source)) << "README.md lists every source";
        const Printed& line = printed.at(score.source);
        EXPECT_EQ(line.predicted, score.predicted);
        EXPECT_EQ(line.rows, score.rows);
        if (score.median) {
            EXPECT_NEAR(line.median, 100 * *score.median, points);
            continue;
        }
        const auto most = std::ranges::max_element(score.reasons, {}, [](const auto& reason) { return reason.second; });
        EXPECT_NE(line.because.find(most->first), std::string::npos) << line.because << " but not " << most->first;
    }
    EXPECT_NEAR(number_in_readme("Mean of the source medians: ([0-9.]+)%"), 100 * *carried().steps.all.mean_of_medians,
                points);
}

TEST(Scores, OfCollectivesBetweenNodesAreThoseThatTheReadmePrints) {
    std::vector<double> between;
    for (const Result& row : carried().collectives.rows)
        if (row.predicted && row.source == "collectives" && row.id.find("/8") == std::string::npos &&
            row.id.find("nvlink") == std::string::npos)
            between.push_back(row.error);
    ASSERT_EQ(between.size(), 7U);
    EXPECT_NEAR(number_in_readme("across nodes, where nothing was calibrated, ([0-9.]+)%"), 100 * median(between),
                points);
}

/// Intervals are meant for four of five.
TEST(Scores, IntervalsHoldAboutAsManyStepsAsTheyAreMeantTo) {
    EXPECT_GT(*carried().steps.all.inside, 0.70);
    EXPECT_LT(*carried().steps.all.inside, 0.90);
    EXPECT_GT(*carried().steps.independent.inside, 0.70);
    EXPECT_LT(*carried().steps.independent.inside, 0.90);
}

}  // namespace
}  // namespace orrery::validate
