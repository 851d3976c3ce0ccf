// Every constant of the model has an origin, and none that a score counts.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "calibrate/profile_store.hpp"
#include "tests/validate/sample.hpp"
#include "validate/gave_constants.hpp"
#include "validate/measured.hpp"
#include "validate/rows.hpp"

namespace orrery::validate {
namespace {

std::vector<std::string> lines_of(const std::filesystem::path& file) {
    std::ifstream in(file);
    std::vector<std::string> lines;
    for (std::string line; std::getline(in, line);) lines.push_back(line);
    return lines;
}

/// Files whose constants are the model's.
std::vector<std::filesystem::path> files_of_constants() {
    std::vector<std::filesystem::path> files{"sim/interval.cpp", "hardware/host_time.cpp"};
    for (const auto& entry : std::filesystem::directory_iterator("hardware"))
        if (entry.path().extension() == ".hpp") files.push_back(entry.path());
    std::ranges::sort(files);
    return files;
}

bool is_comment(const std::string& line) { return line.find("//") != std::string::npos; }

/// Numbers that are defined without a word about them: neither on their line nor above it, nor above the numbers that
/// they stand below.
std::vector<std::string> without_origin(const std::vector<std::string>& lines) {
    static const std::regex number(
        R"(^\s*(?:inline )?constexpr (?:double|Adapter|Switch|PerKernel|OfLayer) (\w+)\b.*[={].*\d)");
    std::vector<std::string> bare;
    std::smatch found;
    for (std::size_t i = 0; i < lines.size(); ++i) {
        if (!std::regex_search(lines[i], found, number)) continue;
        std::size_t above = i;
        while (above > 0 && !is_comment(lines[above]) && !lines[above].empty()) --above;
        if (!is_comment(lines[above])) bare.push_back(found[1]);
    }
    return bare;
}

TEST(Origins, EveryNumberOfTheHardwareHasOne) {
    EXPECT_EQ(without_origin({"inline constexpr double rate = 5e9;"}), std::vector<std::string>{"rate"});
    EXPECT_TRUE(without_origin({"/// A datasheet.", "inline constexpr double rate = 5e9;"}).empty());
    std::size_t files = 0;
    for (const auto& file : files_of_constants()) {
        ++files;
        EXPECT_EQ(without_origin(lines_of(file)), std::vector<std::string>{}) << file;
    }
    EXPECT_GT(files, 4U);
}

std::set<std::string> carried_ids() {
    std::set<std::string> ids;
    for (const auto& file : carried_files())
        for (const Row& row : load_rows(file).rows) ids.insert(row.id());
    return ids;
}

/// Rows of the carried set that an origin names.
std::vector<std::string> rows_in(const std::string& origin, const std::set<std::string>& ids) {
    static const std::regex word(R"([\w./+-]*/[\w./+-]*)");
    std::vector<std::string> named;
    for (std::sregex_iterator at(origin.begin(), origin.end(), word), end; at != end; ++at)
        if (ids.contains(at->str())) named.push_back(at->str());
    return named;
}

TEST(Origins, EveryConstantOfAShippedProfileHasOneThatNoScoreCounts) {
    const std::set<std::string> ids = carried_ids();
    calibrate::ProfileStore profiles;
    for (const std::string& name : calibrate::ProfileStore::shipped())
        for (const auto& [key, constant] : profiles.find(name).profile().constants) {
            EXPECT_FALSE(constant.origin.empty()) << name << ": " << key;
            for (const std::string& row : rows_in(constant.origin, ids))
                EXPECT_NE(gave_constant(row), nullptr) << name << ": " << key << " is from " << row;
        }
}

TEST(Origins, RowsThatGaveAConstantAreInTheSetAndNotScored) {
    const std::set<std::string> ids = carried_ids();
    for (const GaveConstant& each : rows_that_gave_constants()) {
        EXPECT_TRUE(ids.contains(std::string(each.row))) << each.row;
        const std::string file(each.constant.substr(each.constant.find('(') + 1));
        EXPECT_TRUE(std::filesystem::exists(file.substr(0, file.find(')')))) << each.constant;
    }
    const Report report = validate_files(carried_files(), test::constant(1));
    std::set<std::string> seen;  // some in two tables
    for (const Table* table : {&report.steps, &report.memory, &report.collectives, &report.ratios})
        for (const Result& row : table->rows) {
            if (gave_constant(row.id) == nullptr) continue;
            seen.insert(row.id);
            EXPECT_FALSE(row.predicted) << row.id;
        }
    EXPECT_EQ(seen.size(), rows_that_gave_constants().size());
}

/// What a kernel costs the host is what makes these steps come out with the kernels that programs have: who changes
/// those kernels takes the constants anew.
TEST(Origins, StepsThatGaveTheHostsTimeComeOutAsMeasured) {
    const Predictor predictor = simulator();
    std::size_t steps = 0;
    for (const GaveConstant& each : rows_that_gave_constants()) {
        if (each.constant.find("host_time") == std::string_view::npos) continue;
        ++steps;
        const Row row = test::carried_row("megatron_ci_tiny", std::string(each.row));
        const scenarios::Scenario scenario = map_row(row, predictor.has_profile);
        const double measured = measured_seconds(row, scenario, topology::find_gpu(scenario.cluster.gpu));
        EXPECT_NEAR(predictor.step(scenario).step_time_s / measured, 1, 0.002) << each.row;
    }
    EXPECT_EQ(steps, 6U);
}

TEST(Origins, SourcesThatWereLookedAtAreSources) {
    std::set<std::string> sources;
    for (const auto& file : carried_files()) sources.insert(load_rows(file).source);
    for (const char* source : {"vtrain_single", "megatron_ci_tiny", "bigscience", "collectives", "mosaicml_llm_foundry",
                               "nvidia_dle", "oneflow_dlperf", "nvidia_megatron_bridge", "large_models"}) {
        EXPECT_TRUE(looked_at(source));
        EXPECT_TRUE(sources.contains(source)) << source;
    }
    EXPECT_FALSE(looked_at("megatron_papers"));
    for (const char* source : {"megatron_ci_tiny", "bigscience", "bigscience_more", "oneflow_dlperf"}) {
        EXPECT_TRUE(memory_looked_at(source));
        EXPECT_TRUE(sources.contains(source)) << source;
    }
    EXPECT_FALSE(memory_looked_at("torchgpipe"));
}

}  // namespace
}  // namespace orrery::validate
