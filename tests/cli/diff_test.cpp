// orrery diff: what differs between two predictions, in what was asked and in the answers.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/cli/process.hpp"

namespace orrery::cli {
namespace {

std::string predicted(const Folder& folder, const std::string& name, std::vector<std::string> more = {}) {
    std::vector<std::string> words{
        "simulate", "scenarios/gpt-1.7b-dgx-a100.json", "--micro-batch", "4", "--quiet", "--json", folder / name};
    words.insert(words.end(), more.begin(), more.end());
    EXPECT_EQ(orrery(words).exit, 0);
    return folder / name;
}

TEST(Diff, SaysWhatWasAskedOtherwiseAndWhatCameOfIt) {
    const Folder folder;
    const std::string before = predicted(folder, "a.json");
    const std::string after =
        predicted(folder, "b.json", {"--set", "strategy.recompute=selective", "--set", "name=other"});
    const Result result = orrery({"diff", before, after, "--json", folder / "d.json"});
    ASSERT_EQ(result.exit, 0) << result.err;
    for (const char* word : {"The step takes ", "% less; 1 key of the scenario differs", "/strategy/recompute",
                             "\"selective\"", "peak memory", "tokens a second", "of the step"})
        EXPECT_NE(result.out.find(word), std::string::npos) << word << " is missing from\n" << result.out;
    const auto difference = nlohmann::json::parse(content_of(folder / "d.json"));
    ASSERT_EQ(difference["scenario"].size(), 1U);
    EXPECT_EQ(difference["scenario"][0]["pointer"], "/strategy/recompute");
    EXPECT_EQ(difference["results"][0]["name"], "step");
    EXPECT_LT(difference["results"][0]["after"], difference["results"][0]["before"]);
    const auto one = nlohmann::json::parse(content_of(before));
    EXPECT_EQ(difference["results"][0]["before"], one["step_time_s"]);
}

TEST(Diff, APredictionDoesNotDifferFromItself) {
    const Folder folder;
    const std::string file = predicted(folder, "a.json");
    const Result result = orrery({"diff", file, file});
    ASSERT_EQ(result.exit, 0) << result.err;
    EXPECT_NE(result.out.find("The steps take as long; 0 keys of the scenario differ"), std::string::npos)
        << result.out;
}

/// A whole training that one of the two was asked for stands beside nothing.
TEST(Diff, ShowsWhatOneAnswerAloneHas) {
    const Folder folder;
    const std::string before = predicted(folder, "a.json");
    const std::string after = predicted(folder, "b.json", {"--set", "outputs.token_budget=300B"});
    const Result result = orrery({"diff", before, after, "--json", folder / "d.json"});
    ASSERT_EQ(result.exit, 0) << result.err;
    EXPECT_NE(result.out.find("the token budget"), std::string::npos) << result.out;
    EXPECT_NE(result.out.find("new"), std::string::npos) << result.out;
    const auto difference = nlohmann::json::parse(content_of(folder / "d.json"));
    const auto& results = difference["results"];
    const auto budget =
        std::ranges::find_if(results, [](const auto& number) { return number["name"] == "the token budget"; });
    ASSERT_NE(budget, results.end());
    EXPECT_TRUE((*budget)["before"].is_null());
    EXPECT_GT((*budget)["after"], 0);
    const Result back = orrery({"diff", after, before});
    EXPECT_NE(back.out.find("gone"), std::string::npos) << back.out;
}

TEST(Diff, RefusesWhatIsNoPrediction) {
    const Folder folder;
    const std::string file = predicted(folder, "a.json");
    const Result scenario = orrery({"diff", file, "scenarios/gpt-1.7b-dgx-a100.json"});
    EXPECT_EQ(scenario.exit, 2);
    EXPECT_NE(scenario.err.find("is missing"), std::string::npos) << scenario.err;
    EXPECT_EQ(orrery({"diff", file, folder / "none.json"}).exit, 2);
    for (const auto& [key, value] :
         {std::pair<const char*, nlohmann::json>{"step_time_s", nullptr}, {"schema_version", 99}}) {
        auto other = nlohmann::json::parse(content_of(file));
        other[key] = value;
        std::ofstream(folder / "other.json") << other;
        const Result refused = orrery({"diff", file, folder / "other.json"});
        EXPECT_EQ(refused.exit, 2) << key;
        EXPECT_NE(refused.err.find(fmt::format("/{}", key)), std::string::npos) << refused.err;
    }
    EXPECT_EQ(orrery({"diff", file, file, "--json", file}).exit, 2) << "an output that is an input";
}

}  // namespace
}  // namespace orrery::cli
