// explain, list, profile and validate.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "scenarios/keys.hpp"
#include "tests/cli/process.hpp"

namespace orrery::cli {
namespace {

using Json = nlohmann::json;

constexpr const char* shipped = "scenarios/gpt3-175b-superpod-a100.json";

void expect_words(const Result& result, const std::vector<std::string>& words) {
    EXPECT_EQ(result.exit, 0) << result.err;
    EXPECT_EQ(result.err, "");
    for (const std::string& word : words)
        EXPECT_NE(result.out.find(word), std::string::npos) << word << " is missing from\n"
                                                            << result.out.substr(0, 4000);
}

TEST(Explain, ShowsProgramTimesAndOrigins) {
    const Result result = orrery({"explain", shipped, "--rank", "1023"});
    expect_words(result, {"rank 1023 runs", "kernels of one step", "gemm ", "transfers", "all_reduce over tensor",
                          "constants of profile a100", "launch_seconds"});
}

TEST(Explain, ListsWhatCostsMostFirst) {
    const Result text = orrery({"explain", shipped, "--kernels"});
    expect_words(text, {"of step", "rests on", "all_reduce over tensor", "derived: "});
    const Result json = orrery({"explain", shipped, "--format", "json"});
    double before = 1;
    bool inside = false;
    for (const nlohmann::json& row : nlohmann::json::parse(json.out)) {
        if (row["what"] == "all_reduce over tensor") inside = row["share"].is_number() && row["count"] > 1000;
        if (!row["share"].is_number()) continue;
        EXPECT_LE(row["share"], before) << row["what"];
        before = row["share"];
        if (row["part"] == "kernel") {
            EXPECT_NE(row["source"], "") << row["what"];
        }
    }
    EXPECT_TRUE(inside) << "collectives within layers have their time";
}

TEST(Explain, ShowsTheRolesOfDifferentStages) {
    EXPECT_NE(orrery({"explain", shipped, "--rank", "0"}).out, orrery({"explain", shipped, "--rank", "1023"}).out);
}

TEST(List, Models) { expect_words(orrery({"list", "models"}), {"gpt3-175b", "llama2-70b", "bert-large", "layers"}); }
TEST(List, Clusters) { expect_words(orrery({"list", "clusters"}), {"superpod-a100", "superpod-h100", "source"}); }
TEST(List, Profiles) { expect_words(orrery({"list", "profiles"}), {"a100", "h100", "v100", "device"}); }

TEST(List, StrategiesAreTheKeysOfScenarios) {
    const Result result = orrery({"list", "strategies"});
    const documents::Section& section = scenarios::section(scenarios::Place::strategy);
    for (const documents::Key& key : section.keys) {
        EXPECT_NE(result.out.find('\n' + std::string(key.name) + ' '), std::string::npos) << key.name;
        for (const documents::Word& word : key.words)
            EXPECT_NE(result.out.find(word.name), std::string::npos) << key.name << ' ' << word.name;
        EXPECT_FALSE(key.origin.empty()) << key.name << " comes from somewhere";
    }
}

TEST(Profile, ShowsCoverageConstantsAndErrors) {
    expect_words(orrery({"profile", "show", "a100"}),
                 {"profile a100 of NVIDIA A100", "gemm ", "all_reduce, 8 ranks", "launch_seconds", "held-out"});
}

TEST(Profile, IsFoundByPathToo) {
    EXPECT_EQ(orrery({"profile", "show", "scenarios/profiles/a100.json"}).out, orrery({"profile", "show", "a100"}).out);
}

TEST(Validate, ScoresAFileOfRows) {
    const Result result = orrery({"validate", "scenarios/validation/megatron_papers.json", "--json", "-"});
    ASSERT_EQ(result.exit, 0) << result.err;
    const Json report = Json::parse(result.out);
    ASSERT_FALSE(report["rows"].empty());
    for (const Json& row : report["rows"])
        EXPECT_TRUE(row["status"] == "predicted" || !row["reason"].get<std::string>().empty());
    EXPECT_TRUE(report["mean_of_medians"].is_number());
}

TEST(Validate, QuietPrintsNothing) {
    const Folder folder;
    const std::string rows = content_of("scenarios/validation/megatron_papers.json");
    const std::string file = folder.file("rows.json", rows);
    const Result result = orrery({"validate", file, "--quiet", "--json", folder / "scores.json"});
    EXPECT_EQ(result.exit, 0) << result.err;
    EXPECT_EQ(result.out, "");
    EXPECT_TRUE(Json::accept(content_of(folder / "scores.json")));
    EXPECT_EQ(orrery({"validate", file, "--json", file}).exit, 2);  // would overwrite what it reads
    EXPECT_EQ(content_of(file), rows);
}

TEST(Validate, CarriesAFolder) {
    const Folder from, into;
    (void)from.file("rows.json", content_of("scenarios/validation/megatron_papers.json"));
    const Result result = orrery({"validate", "--carry", from / "", "--into", into / ""});
    EXPECT_EQ(result.exit, 0) << result.err;
    EXPECT_EQ(content_of(into / "rows.json"), content_of("scenarios/validation/megatron_papers.json"));
}

}  // namespace
}  // namespace orrery::cli
