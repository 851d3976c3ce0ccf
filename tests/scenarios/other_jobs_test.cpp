// /other_jobs: where other jobs run, and what is refused and where.
#include "scenarios/other_jobs.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "scenarios/scenario.hpp"
#include "tests/scenarios/expect_error.hpp"
#include "tests/scenarios/temporary_file.hpp"

namespace orrery::scenarios {
namespace {

using nlohmann::json;

/// A job of 8 GPUs on 4 nodes of 8, and beside it a file of another that would fill what it is given.
class OtherJobs : public testing::Test {
protected:
    OtherJobs() : other_(text(R"({"name": "other", "strategy": {"tensor": 2}})"), "other.json") {}

    static std::string text(const char* patch) {
        json document = json::parse(R"({"model": {"name": "gpt2"}, "cluster": {"preset": "dgx-a100", "nodes": 4},
            "training": {"seq_length": 512, "global_batch_size": 96}})");
        document.merge_patch(json::parse(patch));
        return document.dump();
    }
    /// The scenario with these other jobs.
    [[nodiscard]] Scenario load_with(const char* jobs, std::uint32_t data = 8) const {
        json document = json::parse(text("{}"));
        document["strategy"]["data"] = data;
        document["other_jobs"] = json::parse(jobs);
        return from_json(document, other_.path().parent_path() / "own.json");
    }

    TemporaryFile other_;
};

TEST_F(OtherJobs, FollowTheJobsBeforeThem) {
    const Scenario scenario = load_with(R"([
        {"scenario": "other.json", "set": ["strategy.data=2", "name=first"]},
        {"scenario": "other.json", "set": ["training.global_batch_size=10"]}])");
    ASSERT_EQ(scenario.other_jobs.size(), 2U);
    const OtherJob &first = scenario.other_jobs[0], &second = scenario.other_jobs[1];
    EXPECT_EQ(first.name, "first");
    EXPECT_EQ(first.plan.ranks(), 4U);
    EXPECT_EQ(first.plan.placement.gpu(0), 8U);
    EXPECT_EQ(second.name, "other");
    EXPECT_EQ(second.plan.strategy.data, 10U) << "all GPUs from 12 on";
    EXPECT_EQ(second.plan.placement.gpu(19), 31U);
}

TEST_F(OtherJobs, RunWhereTheySay) {
    const Scenario scenario = load_with(R"([
        {"scenario": "other.json", "set": ["strategy.data=2"], "first_gpu": 20, "starts_at": "100 ms"},
        {"scenario": "other.json", "set": ["strategy.data=2", "strategy.placement=8-9,16-17"]}])");
    EXPECT_EQ(scenario.other_jobs[0].plan.placement.gpu(3), 23U);
    EXPECT_EQ(scenario.other_jobs[0].starts_at, 0.1);
    EXPECT_EQ(scenario.other_jobs[1].plan.placement.gpu(2), 16U);
}

TEST_F(OtherJobs, MessagesNameThePlace) {
    const auto refused = [&](const char* jobs, const char* pointer, const char* mention, std::uint32_t data = 8) {
        SCOPED_TRACE(jobs);
        expect_error([&] { (void)load_with(jobs, data); }, pointer, mention);
    };
    refused("{}", "/other_jobs", "no list");
    refused("[7]", "/other_jobs/0", "not an object");
    refused("[{}]", "/other_jobs/0/scenario", "missing");
    refused(R"([{"scenario": "other.json", "gpus": 3}])", "/other_jobs/0/gpus", "unknown key");
    refused(R"([{"scenario": "other.json", "first_gpu": 32}])", "/other_jobs/0/first_gpu", "GPU 32 of 32");
    refused(R"([{"scenario": "other.json"}])", "/other_jobs/0/first_gpu", "GPU 32 of 32", 32);
    refused(R"([{"scenario": "other.json", "first_gpu": 4, "set": ["strategy.data=2"]}])", "/other_jobs/0",
            "GPU 4 is wanted by this scenario and by \"other\"");
    refused(R"([{"scenario": "other.json", "first_gpu": 8, "set": ["strategy.data=16"]}])", "/other_jobs/0/set",
            "24 GPUs of the cluster are left");
    refused(R"([{"scenario": "other.json", "first_gpu": 8, "set": ["strategy.data=2", "strategy.placement=8-11"]}])",
            "/other_jobs/0/first_gpu", "strategy.placement");
    refused(R"([{"scenario": "other.json", "starts_at": "soon"}])", "/other_jobs/0/starts_at", "soon");
    refused(R"([{"scenario": "other.json", "starts_at": "2 h"}])", "/other_jobs/0/starts_at", "too late");
    refused(R"([{"scenario": "other.json", "set": ["perturbations.jitter=0.1"]}])", "/perturbations", "of another job");
    refused(R"([{"scenario": "other.json", "set": ["other_jobs=[]"]}])", "/other_jobs/0/set", "of another job");
}

TEST_F(OtherJobs, ErrorsOfTheirFilesNameThem) {
    const auto missing = error_of([&] { (void)load_with(R"([{"scenario": "none.json"}])"); });
    ASSERT_TRUE(missing);
    EXPECT_NE(missing->file().find("none.json"), std::string::npos);
    const auto wrong =
        error_of([&] { (void)load_with(R"([{"scenario": "other.json", "set": ["strategy.tensor=32"]}])"); });
    ASSERT_TRUE(wrong);
    EXPECT_EQ(wrong->pointer(), "/other_jobs/0/set");
    EXPECT_NE(wrong->message().find("\"strategy.tensor=32\": "), std::string::npos) << wrong->message();
}

}  // namespace
}  // namespace orrery::scenarios
