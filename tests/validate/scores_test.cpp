// The scores of README and docs/validation.md, held against what the carried set scores today: they cannot rot.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <map>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

#include "base/parallel.hpp"
#include "base/statistics.hpp"
#include "validate/run.hpp"

namespace orrery::validate {
namespace {

constexpr double points = 0.5;  // of a percentage that is printed

/// README has the sources with predicted rows, the other document the rest.
std::string printed_text() {
    std::string text;
    for (const char* file : {"README.md", "docs/validation.md"}) {
        std::ifstream in(file);
        text += std::string{std::istreambuf_iterator<char>(in), {}};
    }
    return text;
}

struct Printed {
    std::size_t predicted = 0, rows = 0;
    double median = 0;
    std::string because;
};

/// "| vtrain_single | 1440 / 1440 | 12.8% | ..." and "| bmtrain | 28 | ran out of memory: no time (17), ... |"
std::map<std::string, Printed> printed_sources() {
    static const std::regex scored(R"(^\| (\w+) \| (\d+) / (\d+) \| ([\d.]+)% \|.*)"),
        skipped(R"(^\| (\w+) \| (\d+) \| ([a-zA-Z].*) \|$)");
    std::map<std::string, Printed> out;
    std::istringstream text(printed_text());
    std::smatch found;
    for (std::string line; std::getline(text, line);) {
        if (std::regex_match(line, found, scored))
            out[found[1]] = {std::stoul(found[2]), std::stoul(found[3]), std::stod(found[4]), ""};
        else if (std::regex_match(line, found, skipped))
            out[found[1]] = {0, std::stoul(found[2]), 0, found[3]};
    }
    return out;
}

/// Everywhere that a number is printed: README and docs/validation.md may both have it.
std::vector<double> printed_numbers(const std::string& pattern) {
    const std::string text = printed_text();
    const std::regex number(pattern);
    std::vector<double> numbers;
    for (std::sregex_iterator at(text.begin(), text.end(), number); at != std::sregex_iterator(); ++at)
        numbers.push_back(std::stod((*at)[1]));
    EXPECT_FALSE(numbers.empty()) << "neither README.md nor docs/validation.md says " << pattern;
    return numbers;
}

const Report& carried() {
    static const Report report = validate_files(carried_files(), simulator(), {}, all_cores());
    return report;
}

TEST(Scores, AreThosePrinted) {
    const auto printed = printed_sources();
    for (const SourceScore& score : carried().steps.sources) {
        SCOPED_TRACE(score.source);
        ASSERT_TRUE(printed.contains(score.source)) << "README.md or docs/validation.md lists every source";
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
    for (const double printed_mean : printed_numbers("Mean of the source medians: ([0-9.]+)%"))
        EXPECT_NEAR(printed_mean, 100 * *carried().steps.all.mean_of_medians, points);
    for (const double inside : printed_numbers("([0-9.]+)% of the measured steps inside"))
        EXPECT_NEAR(inside, 100 * *carried().steps.all.inside, 2 * points);
}

/// Bounds of what was asked of these sources.
TEST(Scores, StayWithinWhatWasReached) {
    const Table& steps = carried().steps;
    EXPECT_LT(*steps.all.mean_of_medians, 0.1);
    EXPECT_GT(*steps.all.within_tenth, 0.55);
    EXPECT_GE(*steps.all.spearman, 0.9);
    const std::map<std::string, double> most{{"megatron_papers", 0.035},       {"nvidia_dgxc_benchmarking", 0.05},
                                             {"nvidia_nemo_docs", 0.1},        {"nvidia_dle", 0.12},
                                             {"nvidia_megatron_bridge", 0.11}, {"vtrain_single", 0.09},
                                             {"bigscience_more", 0.08}};
    std::size_t seen = 0;
    for (const SourceScore& score : steps.sources)
        if (const auto bound = most.find(score.source); bound != most.end()) {
            EXPECT_LE(*score.median, bound->second) << score.source;
            ++seen;
        }
    EXPECT_EQ(seen, most.size());
}

/// Table 1 of SC'21: ten GPTs of 1.7 to 1,008 billion parameters.
TEST(Scores, OfTheTenGptsOfScTwentyOneStayClose) {
    double sum = 0, worst = 0;
    std::size_t count = 0;
    for (const Result& row : carried().steps.rows)
        if (row.predicted && row.id.starts_with("megatron/sc21_t1_")) {
            sum += std::abs(row.error);
            worst = std::max(worst, std::abs(row.error));
            ++count;
        }
    ASSERT_EQ(count, 10U);
    EXPECT_LE(sum / 10, 0.03);
    EXPECT_LE(worst, 0.07);
}

TEST(Scores, OfMemoryAreThosePrinted) {
    const Table& memory = carried().memory;
    for (const double printed : printed_numbers("\\*\\*Memory\\*\\*: ([0-9.]+)%"))
        EXPECT_NEAR(printed, 100 * *memory.all.mean_of_medians, points);
    for (const double printed : printed_numbers("([0-9.]+)% of the memory rows lie within 10%"))
        EXPECT_NEAR(printed, 100 * *memory.all.within_tenth, points);
    double bias = 0;
    for (const Result& row : memory.rows)
        if (row.predicted) bias += row.signed_error / static_cast<double>(memory.all.rows);
    for (const double printed : printed_numbers("with a bias of (-?[0-9.]+)% over all memory rows"))
        EXPECT_NEAR(printed, 100 * bias, points);
    EXPECT_LT(*memory.all.mean_of_medians, 0.08);
    EXPECT_LT(std::abs(bias), 0.03);
    for (const SourceScore& source : memory.sources) {
        if (!source.median) continue;
        const std::string row = "\\| " + source.source + " \\| [a-zA-Z' -]+ \\| " + std::to_string(source.predicted) +
                                " / " + std::to_string(source.rows) + " \\| ([0-9.]+)%";
        for (const double printed : printed_numbers(row)) EXPECT_NEAR(printed, 100 * *source.median, points);
    }
}

TEST(Scores, OfCollectivesBetweenNodesAreThosePrinted) {
    std::vector<double> between;
    for (const Result& row : carried().collectives.rows)
        if (row.predicted && row.source == "collectives" && row.id.find("/8") == std::string::npos &&
            row.id.find("nvlink") == std::string::npos)
            between.push_back(row.error);
    ASSERT_EQ(between.size(), 6U);
    for (const double printed : printed_numbers("across nodes, where nothing was calibrated, ([0-9.]+)%"))
        EXPECT_NEAR(printed, 100 * median(between), points);
    EXPECT_LE(std::ranges::max(between), 0.25);
}

/// "| GPU-hours | 17 of 24 | 17.1% | -10.6% |"
TEST(Scores, OfWholeTrainingsAreThosePrinted) {
    const std::string text = printed_text();
    static const std::regex line(R"(\n\| ([\w, -]+) \| (\d+) of (\d+) \| ([\d.]+)% \| ([+-][\d.]+)% \|)");
    std::map<std::string, std::smatch> printed;
    for (std::sregex_iterator at(text.begin(), text.end(), line); at != std::sregex_iterator(); ++at)
        printed[(*at)[1]] = *at;
    EXPECT_EQ(printed.size(), carried().trainings.sources.size());
    for (const SourceScore& score : carried().trainings.sources) {
        SCOPED_TRACE(score.source);
        ASSERT_TRUE(printed.contains(score.source));
        const std::smatch& found = printed.at(score.source);
        EXPECT_EQ(std::stoul(found[2]), score.predicted);
        EXPECT_EQ(std::stoul(found[3]), score.rows);
        EXPECT_NEAR(std::stod(found[4]), 100 * *score.median, points);
        EXPECT_NEAR(std::stod(found[5]), 100 * *score.bias, points);
    }
}

/// "| whale | ratios | 33 / 75 | 13.2% | 15.9% | +2.0% |"
TEST(Scores, OfRatiosAreThosePrinted) {
    const Table& ratios = carried().ratios;
    ASSERT_EQ(ratios.sources.size(), 1U);
    const SourceScore& score = ratios.sources[0];
    const std::string row = "\\| " + score.source + " \\| ratios \\| " + std::to_string(score.predicted) + " / " +
                            std::to_string(score.rows) + " \\| ";
    for (const double printed : printed_numbers(row + "([0-9.]+)%")) EXPECT_NEAR(printed, 100 * *score.median, points);
    for (const double printed : printed_numbers(row + "[0-9.]+% \\| ([0-9.]+)%"))
        EXPECT_NEAR(printed, 100 * *score.mean, points);
    for (const double printed : printed_numbers("`whale` ratios ([0-9.]+)%"))
        EXPECT_NEAR(printed, 100 * *score.median, points);
    EXPECT_LT(*score.median, 0.2);
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
