// Other jobs and background traffic, by the command line.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/cli/process.hpp"

namespace orrery::cli {
namespace {

using Json = nlohmann::json;

const std::string shipped = "scenarios/mistral-7b-beside-gpt-1.7b.json";

TEST(Sharing, IsPartOfTheReport) {
    const Result result = orrery({"simulate", shipped});
    ASSERT_EQ(result.exit, 0) << result.err;
    for (const char* word :
         {"PERTURBED", "node 31 to nodes 0-3", "beside \"GPT 1.7B", "step alone", "GPT 1.7B", "shared link", "leaf "})
        EXPECT_NE(result.out.find(word), std::string::npos) << word << " is missing from\n" << result.out;
}

TEST(Sharing, IsPartOfTheJson) {
    const Result result = orrery({"simulate", shipped, "--json", "-"});
    ASSERT_EQ(result.exit, 0) << result.err;
    const Json report = Json::parse(result.out);
    ASSERT_EQ(report.at("jobs").size(), 2U);
    for (const Json& job : report.at("jobs")) EXPECT_GT(job.at("shared_s"), job.at("alone_s"));
    EXPECT_EQ(report.at("jobs").at(0).at("shared_s"), report.at("step_time_s"));
    EXPECT_EQ(report.at("planned_step_time_s"), report.at("jobs").at(0).at("alone_s"));
    ASSERT_FALSE(report.at("shared_links").empty());
    double before = 1;
    for (const Json& link : report.at("shared_links")) {
        EXPECT_LE(link.at("busy").get<double>(), before) << "the busiest first, none beyond its capacity";
        before = link.at("busy");
    }

    const Result alone =
        orrery({"simulate", shipped, "--set", "other_jobs=null", "--set", "perturbations=null", "--json", "-"});
    ASSERT_EQ(alone.exit, 0) << alone.err;
    const Json by_itself = Json::parse(alone.out);
    EXPECT_EQ(by_itself.at("step_time_s"), report.at("planned_step_time_s"));
    EXPECT_FALSE(by_itself.contains("jobs"));
    EXPECT_FALSE(by_itself.contains("shared_links"));
}

TEST(Sharing, FoldsExactly) {
    const Result result = orrery({"simulate", shipped, "--fold", "verify"});
    EXPECT_EQ(result.exit, 0) << result.err;
    EXPECT_NE(result.out.find("agree: largest difference"), std::string::npos) << result.out;
}

TEST(Sharing, ItsResolvedScenarioSaysTheSame) {
    const Folder folder;
    const Result first = orrery({"simulate", shipped, "--json", "-"});
    ASSERT_EQ(first.exit, 0) << first.err;
    Json scenario = Json::parse(first.out).at("scenario");
    const std::string other = scenario.at("other_jobs").at(0).at("scenario");
    EXPECT_EQ(other, "scenarios/gpt-1.7b-dgx-a100.json");
    EXPECT_FALSE(folder.file("other.json", content_of(other)).empty());
    scenario["other_jobs"][0]["scenario"] = "other.json";
    const Result second = orrery({"simulate", folder.file("again.json", scenario.dump()), "--json", "-"});
    ASSERT_EQ(second.exit, 0) << second.err;
    EXPECT_EQ(Json::parse(second.out).at("step_time_s"), Json::parse(first.out).at("step_time_s"));
}

TEST(Sharing, SaysWhereItIsWrong) {
    const auto refused = [](std::vector<std::string> arguments, const std::string& where) {
        const Result result = orrery(arguments);
        EXPECT_EQ(result.exit, 2) << result.out;
        EXPECT_NE(result.err.find(where), std::string::npos) << result.err;
    };
    const std::string few = "other_jobs.0.set=[\"strategy.data=8\"]";
    refused({"simulate", shipped, "--set", "other_jobs.0.first_gpu=0", "--set", few},
            "/other_jobs/0: GPU 0 is wanted by this scenario");
    refused({"simulate", shipped, "--set", "perturbations.background=[\"node 99 to node 0 at 1 GB/s\"]"},
            "/perturbations/background/0: node 99 of 32");
    refused({"placement", shipped}, "/other_jobs: placements are compared for a job by itself");
    refused({"run", "scenarios/gpt-tiny-cpu.json", "--set",
             "other_jobs=[{\"scenario\": \"gpt-tiny-cpu.json\", \"first_gpu\": 1}]"},
            "/other_jobs: a real run has the machine as it is");
}

}  // namespace
}  // namespace orrery::cli
