#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "tests/cli/process.hpp"

namespace orrery::cli {
namespace {

using Json = nlohmann::json;

/// Small enough to be simulated many times a second.
constexpr const char* small = R"({
    "name": "small",
    "model": {"name": "gpt2"},
    "cluster": {"preset": "superpod-a100", "nodes": 2},
    "strategy": {"tensor": 4, "pipeline": 2, "data": 2},
    "training": {"seq_length": 1024, "micro_batch_size": 1, "global_batch_size": 16},
    "outputs": {"token_budget": "1B"}
})";

class SimulateTest : public testing::Test {
protected:
    [[nodiscard]] Json predict(const std::vector<std::string>& more = {}) const {
        std::vector<std::string> arguments{"simulate", scenario_, "--json", "-"};
        arguments.insert(arguments.end(), more.begin(), more.end());
        const Result result = orrery(arguments);
        EXPECT_EQ(result.exit, 0) << result.err;
        return result.exit == 0 ? Json::parse(result.out) : Json();
    }

    Folder folder_;
    std::string scenario_ = folder_.file("small.json", small);
};

TEST_F(SimulateTest, PrintsTheReport) {
    const Result result = orrery({"simulate", scenario_});
    EXPECT_EQ(result.exit, 0);
    EXPECT_EQ(result.err, "");
    for (const char* word : {"small", "16 GPUs  TP4 PP2 DP2", "MFU", "scale factor", "1.00B tokens in", "time (ms)",
                             "memory (MiB)", "BOTTLENECK", "orrery " ORRERY_VERSION})
        EXPECT_NE(result.out.find(word), std::string::npos) << word << " is missing from\n" << result.out;
    EXPECT_EQ(result.out.find('\x1b'), std::string::npos);
}

TEST_F(SimulateTest, WritesNothingButJsonToStandardOutput) {
    const Json report = predict();
    for (const char* key : {"step_time_s", "tokens_per_s", "mfu", "hfu", "scale_factor", "training_time_s"})
        EXPECT_TRUE(report[key].is_number() && report[key] > 0) << key;
    EXPECT_EQ(report["peak_memory_bytes"].size(), 2U);
    EXPECT_TRUE(report["fits"].is_boolean());
    EXPECT_NEAR(report["tokens_per_s"].get<double>() * report["step_time_s"].get<double>(), 16 * 1024, 1e-3);
    double sum = 0;
    for (const auto& [key, seconds] : report["breakdown_s"].items()) sum += seconds.get<double>();
    EXPECT_NEAR(sum, report["step_time_s"].get<double>(), 1e-6 * sum);
}

TEST_F(SimulateTest, SaysWhatAWholeTrainingTakes) {
    const std::vector<std::string> asked{"--set", "reliability.failures_per_1000_node_days=500",  //
                                         "--set", "checkpoint.asynchronous=true"};
    const Json report = predict(asked);
    const Json& run = report["whole_run"];
    EXPECT_GT(run["wall_clock_s"], report["training_time_s"]);
    EXPECT_NEAR(run["closed_form_s"].get<double>(), run["wall_clock_s"].get<double>(),
                0.05 * run["wall_clock_s"].get<double>());
    double sum = 0;
    for (const auto& [cause, seconds] : run["time_s"].items()) sum += seconds.get<double>();
    EXPECT_NEAR(sum, run["wall_clock_s"].get<double>(), 1e-6 * sum);
    EXPECT_EQ(report["scenario"]["reliability"]["failures_per_1000_node_days"], 500);
    EXPECT_FALSE(predict().contains("whole_run"));
    std::vector<std::string> arguments{"simulate", scenario_};
    arguments.insert(arguments.end(), asked.begin(), asked.end());
    const Result result = orrery(arguments);
    for (const char* word :
         {"8TP/(nX)", "whole run", "goodput", "restarts", "in closed form", "checkpoints", "GPU-hours"})
        EXPECT_NE(result.out.find(word), std::string::npos) << word << " is missing from\n" << result.out;
}

TEST_F(SimulateTest, RefusesHostileTrainings) {
    const auto refused = [&](const std::string& change, const std::string& pointer) {
        const Result result = orrery({"simulate", scenario_, "--set", change});
        EXPECT_EQ(result.exit, 2) << change;
        EXPECT_NE(result.err.find(pointer), std::string::npos) << result.err;
        EXPECT_EQ(result.out, "");
    };
    refused("reliability.node_mtbf=0 s", "/reliability/node_mtbf");
    refused("reliability.failures_per_1000_node_days=-1", "/reliability/failures_per_1000_node_days");
    refused("reliability.failures_per_1000_node_days=1000000", "/reliability");
    refused("reliability.spare_nodes=1", "/reliability/spare_nodes");
    refused("checkpoint.interval=0 s", "/checkpoint/interval");
    refused("storage.write_rate=0 GB/s", "/storage/write_rate");
    const Result unbounded = orrery({"simulate", scenario_, "--set", "outputs=null", "--set", "reliability={}"});
    EXPECT_EQ(unbounded.exit, 2);
    EXPECT_NE(unbounded.err.find("token_budget"), std::string::npos) << unbounded.err;
}

/// A cluster of two kinds of GPU, from the scenario to every report.
TEST_F(SimulateTest, PredictsTwoKindsOfGpu) {
    const std::string shipped = "scenarios/gpt-1.3b-a100-h100.json", fewer = "training.global_batch_size=64";
    const Result text = orrery({"simulate", shipped, "--set", fewer});
    EXPECT_EQ(text.exit, 0) << text.err;
    for (const char* word :
         {"profile a100, h100", "16  A100-SXM4-80GB  a100", "16  H100-SXM5-80GB  h100", "H100-SXM5-80GB ranks compute"})
        EXPECT_NE(text.out.find(word), std::string::npos) << word << " is missing from\n" << text.out;
    const Result json = orrery({"simulate", shipped, "--set", fewer, "--json", "-"});
    ASSERT_EQ(json.exit, 0) << json.err;
    const Json report = Json::parse(json.out);
    ASSERT_EQ(report["gpu_kinds"].size(), 2U);
    EXPECT_EQ(report["gpu_kinds"][1]["profile"], "h100");
    EXPECT_EQ(report["scenario"]["profile"], Json({{"A100-SXM4-80GB", "a100"}, {"H100-SXM5-80GB", "h100"}}));
    EXPECT_EQ(report["provenance"]["profile"], "a100, h100");
    for (const char* how : {"--fold", "--engine"})
        EXPECT_EQ(orrery({"simulate", shipped, "--set", fewer, how, "verify"}).exit, 0) << how;
    const Result refused = orrery({"simulate", shipped, "--set", "profile=a100"});
    EXPECT_EQ(refused.exit, 2);
    EXPECT_NE(refused.err.find("would time both"), std::string::npos) << refused.err;
    const Result explained = orrery({"explain", shipped, "--set", fewer, "--rank", "31"});
    EXPECT_NE(explained.out.find("constants of profile h100"), std::string::npos) << explained.err;
    EXPECT_EQ(orrery({"placement", shipped, "--set", fewer}).exit, 0);
}

TEST_F(SimulateTest, GivesTheSameBytesTwice) {
    const std::string one = folder_ / "1.json", two = folder_ / "2.json";
    for (const std::string& file : {one, two})
        ASSERT_EQ(orrery({"simulate", scenario_, "--json", file, "--trace", file + ".gz"}).exit, 0);
    EXPECT_EQ(content_of(one), content_of(two));
    EXPECT_EQ(content_of(one + ".gz"), content_of(two + ".gz"));
    EXPECT_FALSE(content_of(one).empty());
}

TEST_F(SimulateTest, OverridesAnyKey) {
    const Json base = predict(), other = predict({"--set", "strategy.tensor=2", "--set", "strategy.pipeline=4"});
    EXPECT_EQ(other["scenario"]["strategy"]["tensor"], 2);
    EXPECT_EQ(other["scenario"]["strategy"]["pipeline"], 4);
    EXPECT_EQ(other["peak_memory_bytes"].size(), 4U);
    EXPECT_NE(other["step_time_s"], base["step_time_s"]);
    const Json faster = predict({"--set", "training.global_batch_size=8"});
    EXPECT_LT(faster["step_time_s"].get<double>(), base["step_time_s"].get<double>());
}

TEST_F(SimulateTest, RefusesOperationsWithoutAPlaceForThem) {
    const Result result = orrery({"simulate", "scenarios/gpt-tiny-cpu.json", "--operations"});
    EXPECT_EQ(result.exit, 2);
    EXPECT_NE(result.err.find("--operations: there is no JSON"), std::string::npos) << result.err;
}

TEST_F(SimulateTest, RefusesAnOptionAndAnOverrideThatSayOther) {
    const auto asked = [&](const std::vector<std::string>& more) {
        std::vector<std::string> words{"simulate", "scenarios/gpt-1.7b-dgx-a100.json"};
        words.insert(words.end(), more.begin(), more.end());
        return orrery(words);
    };
    const Result other = asked({"--tensor", "4", "--set", "strategy.tensor=2"});
    EXPECT_EQ(other.exit, 2);
    EXPECT_NE(other.err.find("--set strategy.tensor=2: an option says 4"), std::string::npos) << other.err;
    EXPECT_EQ(asked({"--gpus", "16", "--set", "cluster.nodes=4"}).exit, 2);
    EXPECT_EQ(asked({"--micro-batch", "4", "--set", "training.micro_batch_size=4"}).exit, 0) << "they agree";
}

TEST_F(SimulateTest, TakesItsOwnResolvedScenario) {
    const Json base = predict();
    const std::string resolved = folder_.file("resolved.json", base["scenario"].dump());
    const Result again = orrery({"simulate", resolved, "--json", "-"});
    ASSERT_EQ(again.exit, 0) << again.err;
    EXPECT_EQ(Json::parse(again.out), base);
}

TEST(SimulateExperts, TheShippedScenarioAndItsImbalance) {
    const std::vector<std::string> mixtral{"simulate", "scenarios/mixtral-8x7b-superpod-h100.json"};
    const Result planned = orrery(mixtral);
    EXPECT_EQ(planned.exit, 0) << planned.err;
    for (const char* word : {"DP16  EP8", "8 experts, top 2, 12.9 of 46.7 B parameters active", "EP comm"})
        EXPECT_NE(planned.out.find(word), std::string::npos) << word << " is missing from\n" << planned.out;
    const auto with = [&](const std::vector<std::string>& more) {
        std::vector<std::string> arguments = mixtral;
        arguments.insert(arguments.end(), {"--json", "-"});
        for (const std::string& change : more) arguments.insert(arguments.end(), {"--set", change});
        return orrery(arguments);
    };
    const Json balanced = Json::parse(with({}).out);
    EXPECT_GT(balanced["breakdown_s"]["expert_comm"], 0);
    const Result loaded = with({"perturbations.expert_imbalance=1.5"});
    ASSERT_EQ(loaded.exit, 0) << loaded.err;
    const Json report = Json::parse(loaded.out);
    EXPECT_GT(report["step_time_s"], balanced["step_time_s"]);
    EXPECT_EQ(report["planned_step_time_s"], balanced["step_time_s"]);
    EXPECT_EQ(report["scenario"]["perturbations"]["expert_imbalance"], 1.5);
    EXPECT_NE(report["warnings"].dump().find("the fullest rank's take 1.50 times as many"), std::string::npos);
    EXPECT_EQ(balanced["warnings"].dump().find("fullest rank"), std::string::npos);
    EXPECT_EQ(with({"perturbations.expert_imbalance=9"}).exit, 2);
    const Result odd = with({"strategy.expert=3"});
    EXPECT_EQ(odd.exit, 2);
    EXPECT_NE(odd.err.find("/strategy/expert: 3 ranks do not divide the 8 experts"), std::string::npos) << odd.err;
}

TEST(SimulateOffloading, AnOptimizerOnTheHostIsNamedAndAdvisedAgainst) {
    const Result result =
        orrery({"simulate", "--model", "llama3-8b", "--cluster", "dgx-h100", "--gpus", "8", "--tensor", "8",
                "--global-batch", "8", "--seq-length", "8192", "--set", "strategy.optimizer_cpu_offload=true"});
    ASSERT_EQ(result.exit, 0) << result.err;
    EXPECT_NE(result.out.find("BOTTLENECK the host's optimizer and copies"), std::string::npos) << result.out;
    EXPECT_NE(result.out.find("the optimizer on the GPU: "), std::string::npos) << result.out;
}

TEST(SimulateOffloading, TheShippedScenarioFitsBecauseOfIt) {
    const std::string scenario = "scenarios/llama3-8b-64k-dgx-h100.json";
    const Result result = orrery({"simulate", scenario});
    EXPECT_EQ(result.exit, 0) << result.err;
    for (const char* word : {"14 layers offloaded", "copies exposed", "in host memory", "27.8 GB/s a GPU"})
        EXPECT_NE(result.out.find(word), std::string::npos) << word << " is missing from\n" << result.out;
    const auto with = [&](const std::string& change) {
        return Json::parse(orrery({"simulate", scenario, "--json", "-", "--set", change}).out);
    };
    const Json some = with("seed=1"), none = with("strategy.cpu_offloading_num_layers=0");
    EXPECT_TRUE(some["fits"]);
    EXPECT_FALSE(none["fits"]);
    EXPECT_EQ(none["host_memory_bytes"], 0);
    EXPECT_EQ(some["host_memory_bytes"], 8 * some["memory_bytes"][0]["host"].get<std::uint64_t>());
    EXPECT_LT(some["step_time_s"].get<double>(), 1.1 * none["step_time_s"].get<double>());
    const std::string advice = none["advice"].dump();
    EXPECT_NE(advice.find("layers a chunk offloaded"), std::string::npos) << advice;
    const Result beyond = orrery({"simulate", scenario, "--set", "strategy.cpu_offloading_num_layers=33"});
    EXPECT_EQ(beyond.exit, 2);
    EXPECT_NE(beyond.err.find("33 layers, but a chunk has 32"), std::string::npos) << beyond.err;
}

TEST_F(SimulateTest, WritesATraceOfEveryStage) {
    const std::string file = folder_ / "trace.json";
    const Result result = orrery({"simulate", scenario_, "--trace", file, "--quiet"});
    ASSERT_EQ(result.exit, 0) << result.err;
    EXPECT_EQ(result.out, "");
    const Json trace = Json::parse(content_of(file));
    std::set<std::string> stages;
    double end_us = 0;
    for (const Json& event : trace["traceEvents"]) {
        if (event["name"] == "process_name") stages.insert(event["args"]["name"].get<std::string>().substr(0, 7));
        if (event["ph"] == "X") end_us = std::max(end_us, event["ts"].get<double>() + event["dur"].get<double>());
    }
    EXPECT_EQ(stages, (std::set<std::string>{"stage 0", "stage 1"}));
    EXPECT_NEAR(end_us * 1e-6, predict()["step_time_s"].get<double>(), 1e-6);
}

/// What a page of a browser or Perfetto opens without delay, with what tensor ranks say to each other.
TEST(SimulateTrace, Of1024GpusIsSmallAndOpensLayers) {
    const Folder folder;
    const std::string file = folder / "trace.json";
    const Result result = orrery({"simulate", "scenarios/gpt3-175b-superpod-a100.json", "--trace", file});
    ASSERT_EQ(result.exit, 0) << result.err;
    EXPECT_LT(std::filesystem::file_size(file), 10'000'000U);
    EXPECT_NE(result.err.find("left out: kernels and collectives within the layers of micro-batches "),
              std::string::npos)
        << result.err;
    const std::string text = content_of(file);
    const auto count = [&](const std::string& what) {
        std::size_t found = 0;
        for (std::size_t at = text.find(what); at != text.npos; at = text.find(what, at + 1)) ++found;
        return found;
    };
    EXPECT_GT(count("all_reduce over tensor"), 500U);
    EXPECT_EQ(count("\"ph\":\"s\""), count("\"ph\":\"f\""));
    EXPECT_GT(count("\"ph\":\"s\""), 1000U) << "arrows";
}

TEST_F(SimulateTest, TracesTheRanksThatAreAskedFor) {
    const std::string file = folder_ / "trace.json";
    ASSERT_EQ(orrery({"simulate", scenario_, "--trace", file, "--trace-ranks", "3,15", "--quiet"}).exit, 0);
    std::set<std::string> titles;
    const Json trace = Json::parse(content_of(file));
    for (const Json& event : trace["traceEvents"])
        if (event["name"] == "process_name") titles.insert(event["args"]["name"].get<std::string>());
    EXPECT_EQ(titles, (std::set<std::string>{"stage 0: rank 3", "stage 1: rank 15"}));
    for (const std::vector<std::string>& wrong : {std::vector<std::string>{"--trace-ranks", "3"},
                                                  {"--trace", file, "--trace-ranks", "16"},
                                                  {"--trace", file, "--trace-ranks", "3,3"},
                                                  {"--trace", file, "--trace-ranks", "x"}}) {
        std::vector<std::string> arguments{"simulate", scenario_};
        arguments.insert(arguments.end(), wrong.begin(), wrong.end());
        const Result refused = orrery(arguments);
        EXPECT_EQ(refused.exit, 2) << refused.err;
        EXPECT_NE(refused.err.find("\n  hint: "), std::string::npos) << refused.err;
    }
}

TEST_F(SimulateTest, ChecksWhetherItFits) {
    const std::vector<std::string> large{
        "simulate", scenario_, "--quiet", "--set", "model.name=gpt3-175b", "--set", "training.seq_length=2048"};
    EXPECT_EQ(orrery(large).exit, 0);
    std::vector<std::string> checked = large;
    checked.emplace_back("--check");
    EXPECT_EQ(orrery(checked).exit, 1);
    EXPECT_EQ(orrery({"simulate", scenario_, "--quiet", "--check"}).exit, 0);
}

TEST_F(SimulateTest, RefusesOutputsThatCannotBeWrittenAndLeavesNothing) {
    const std::vector<std::string> before = folder_.names();
    for (const char* option : {"--json", "--trace"})
        for (const std::string& path : {folder_ / "missing/out.json", folder_ / "", scenario_, scenario_ + "/x"}) {
            const Result result = orrery({"simulate", scenario_, option, path});
            EXPECT_EQ(result.exit, 2) << option << ' ' << path;
            EXPECT_EQ(result.out, "");
            EXPECT_NE(result.err.find("orrery: error: "), std::string::npos) << result.err;
        }
    EXPECT_EQ(orrery({"simulate", scenario_, "--json", "-", "--trace", "-"}).exit, 2);
    EXPECT_EQ(orrery({"simulate", scenario_, "--json", "/dev/full"}).exit, 2);
    EXPECT_EQ(folder_.names(), before);
    EXPECT_EQ(content_of(scenario_), small);
}

/// Times of every operation of 1,024 ranks: refused before the work, not when the memory is full.
TEST_F(SimulateTest, RefusesOperationsThatNobodyCouldRead) {
    const std::string out = folder_ / "out.json";
    const Result result = orrery({"simulate", "scenarios/gpt3-175b-superpod-a100.json", "--operations", "--json", out});
    EXPECT_EQ(result.exit, 2);
    EXPECT_NE(result.err.find("every operation of 1024 ranks are about "), std::string::npos) << result.err;
    EXPECT_NE(result.err.find("more than the 1.00 GiB that can be read again"), std::string::npos) << result.err;
    EXPECT_NE(result.err.find("hint: leave --operations out"), std::string::npos) << result.err;
    EXPECT_FALSE(std::filesystem::exists(out));
}

TEST_F(SimulateTest, LeavesNoFileBehindWhenTheScenarioIsBad) {
    const std::vector<std::string> before = folder_.names();
    EXPECT_EQ(orrery({"simulate", scenario_, "--json", folder_ / "out.json", "--set", "strategy.tensor=5"}).exit, 2);
    EXPECT_EQ(folder_.names(), before);
}

TEST_F(SimulateTest, TellsWhereAnIllegalValueStands) {
    const Result result = orrery({"simulate", scenario_, "--set", "strategy.tensor=5", "--set", "strategy.data=1"});
    EXPECT_EQ(result.exit, 2);
    EXPECT_NE(result.err.find("/strategy/tensor"), std::string::npos) << result.err;
    EXPECT_NE(result.err.find('5'), std::string::npos) << result.err;
}

TEST_F(SimulateTest, NeverColoursAFile) {
    for (const char* variable : {"NO_COLOR=1", "TERM=xterm-256color", "CLICOLOR=1"}) {
        const Result result = orrery({"simulate", scenario_}, {variable});
        EXPECT_EQ(result.out.find('\x1b'), std::string::npos) << variable;
        EXPECT_EQ(result.out, orrery({"simulate", scenario_, "--no-color"}).out);
    }
}

}  // namespace
}  // namespace orrery::cli
