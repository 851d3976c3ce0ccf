// orrery sweep: what it writes, what it refuses, and that a kill costs nothing that was finished.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <nlohmann/json.hpp>
#include <random>
#include <thread>

#include "tests/cli/process.hpp"

namespace orrery::cli {
namespace {

using Json = nlohmann::json;

const std::string scenario = "scenarios/gpt-1.7b-dgx-a100.json";

std::vector<std::string> sweep_of(const std::vector<std::string>& vary, const std::vector<std::string>& more = {}) {
    std::vector<std::string> arguments{"sweep", scenario};
    for (const std::string& each : vary) arguments.insert(arguments.end(), {"--vary", each});
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
}

std::size_t lines(const std::string& text) { return static_cast<std::size_t>(std::ranges::count(text, '\n')); }

TEST(Sweep, PrintsTheBestFirstAndWhatCannotBe) {
    const Result result = orrery(sweep_of({"strategy.tensor=1,2,3,4", "training.micro_batch_size=1,2"}));
    ASSERT_EQ(result.exit, 0) << result.err;
    for (const char* word : {"8 points", "2 are no legal scenario", "strategy.tensor", "step", "tokens/s", "MFU",
                             "why not", "ranks do not divide"})
        EXPECT_NE(result.out.find(word), std::string::npos) << word << " is missing from\n" << result.out;
}

TEST(Sweep, CsvAndJsonHoldEveryPoint) {
    const Folder folder;
    const Result result =
        orrery(sweep_of({"strategy.tensor=1,2,3"}, {"--csv", folder / "out.csv", "--json", folder / "out.json"}));
    ASSERT_EQ(result.exit, 0) << result.err;
    EXPECT_EQ(folder.names(), (std::vector<std::string>{"out.csv", "out.json"})) << "the log has served";
    const std::string csv = content_of(folder / "out.csv");
    EXPECT_EQ(lines(csv), 4U);
    EXPECT_TRUE(csv.starts_with("strategy.tensor,rank,gpus,step_time_s,tokens_per_s,")) << csv;
    const Json json = Json::parse(content_of(folder / "out.json"));
    ASSERT_EQ(json.at("points").size(), 3U);
    EXPECT_EQ(json.at("counts").at("illegal"), 1);
    const Json simulated = Json::parse(
        orrery({"simulate", scenario, "--set", "strategy.tensor=2", "--set", "strategy.data=null", "--json", "-"}).out);
    EXPECT_EQ(json.at("points").at(1).at("step_time_s"), simulated.at("step_time_s"));
    EXPECT_TRUE(json.at("points").at(2).contains("problem"));
}

/// By the time of the whole run, where failures make it another order than steps do.
TEST(Sweep, OfWholeRunsTheOneThatEndsFirstIsTheBest) {
    const Result result =
        orrery(sweep_of({"reliability.spare_nodes=0,8"},
                        {"--set", "reliability.repair=2 days", "--set", "reliability.node_mtbf=20 days", "--set",
                         "outputs.token_budget=30B", "--json", "-"}));
    ASSERT_EQ(result.exit, 0) << result.err;
    const Json points = Json::parse(result.out).at("points");
    EXPECT_EQ(points.at(0).at("step_time_s"), points.at(1).at("step_time_s"));
    EXPECT_GT(points.at(0).at("wall_clock_s"), points.at(1).at("wall_clock_s"));
    EXPECT_EQ(points.at(0).at("training_time_s"), points.at(1).at("training_time_s"));
    EXPECT_EQ(points.at(1).at("rank"), 1);
}

TEST(Sweep, OverGpusThereIsACurve) {
    const Result result = orrery(sweep_of({"gpus=8..64x2"}));
    ASSERT_EQ(result.exit, 0) << result.err;
    for (const char* word : {"speed-up", "of ideal", "scale factor", "100.0%"})
        EXPECT_NE(result.out.find(word), std::string::npos) << word << " is missing from\n" << result.out;
}

TEST(Sweep, WhatCannotBeAskedEndsWithTwoAndARemedy) {
    const Folder folder;
    const std::string csv = folder / "out.csv";
    const std::vector<std::vector<std::string>> refused{
        sweep_of({"strategy.tensr=1"}),
        sweep_of({"strategy.tensor="}),
        sweep_of({"strategy.tensor=8..1x2"}),
        sweep_of({"strategy.tensor=1..8"}),
        sweep_of({"cluster.nic_rate=100..400x2"}, {"--csv", csv}),
        sweep_of({"gpus=0"}),
        sweep_of({"gpus=8,16", "cluster.nodes=1,2"}),
        sweep_of({"gpus=8,16"}, {"--gpus", "16"}),
        sweep_of({"gpus=8,16"}, {"--nodes", "2"}),
        sweep_of({"gpus=8,16"}, {"--set", "cluster.nodes=2"}),
        sweep_of({"gpus=1..1000000 +1", "seed=1..1000 +1"}),
        sweep_of({"strategy.tensor=3"}, {"--csv", csv}),
        sweep_of({"strategy.tensor=1"}, {"--csv", folder / "no/such/folder.csv"}),
        sweep_of({"strategy.tensor=1"}, {"--csv", scenario}),
        sweep_of({"strategy.tensor=1"}, {"--csv", csv, "--json", csv}),
        sweep_of({"strategy.tensor=1"}, {"--top", "0"}),
        sweep_of({"strategy.tensor=1"}, {"--threads", "0"}),
        {"sweep", "no-such.json", "--vary", "strategy.tensor=1"},
        {"sweep", scenario},
    };
    for (const auto& arguments : refused) {
        const Result result = orrery(arguments);
        EXPECT_EQ(result.exit, 2) << arguments.back() << '\n' << result.out << result.err;
        EXPECT_TRUE(result.err.starts_with("orrery: error: ")) << result.err;
        EXPECT_EQ(result.out, "");
        EXPECT_EQ(folder.names(), std::vector<std::string>{}) << arguments.back();
    }
}

TEST(Sweep, TwoWritersDoNotMeet) {
    const Folder folder;
    const auto arguments = sweep_of({"seed=1..2000 +1"}, {"--csv", folder / "out.csv", "--threads", "1"});
    Running first(arguments);
    ASSERT_TRUE(comes_true([&] {
        const auto names = folder.names();
        return !names.empty() && lines(content_of(folder / "out.csv.log")) > 1;
    }));
    const Result second = orrery(arguments);
    EXPECT_EQ(second.exit, 2);
    EXPECT_NE(second.err.find("is being written by another sweep"), std::string::npos) << second.err;
    ASSERT_EQ(::kill(first.process(), SIGINT), 0);
    const Result interrupted = first.wait();
    EXPECT_EQ(interrupted.exit, 130);
    EXPECT_NE(interrupted.err.find("the same command goes on from there"), std::string::npos) << interrupted.err;
}

/// Kills at moments that are as random as the machine is, until one run comes to its end.
TEST(Sweep, KillsLoseNothingThatWasFinished) {
    const Folder folder;
    const std::vector<std::string> vary{"seed=1..60 +1", "strategy.tensor=1,2,3"};
    ASSERT_EQ(orrery(sweep_of(vary, {"--csv", folder / "whole.csv", "--json", folder / "whole.json"})).exit, 0);
    const auto arguments = sweep_of(vary, {"--csv", folder / "out.csv", "--json", folder / "out.json"});
    std::mt19937 random(7);
    std::size_t kept = 0;
    int exit = -1;
    for (int run = 0; run < 100 && exit != 0; ++run) {
        Running sweep(arguments);
        std::this_thread::sleep_for(std::chrono::milliseconds(20 + random() % 80));
        if (run < 12) ::kill(sweep.process(), SIGKILL);
        exit = sweep.wait().exit;
        if (exit == 0) break;
        const auto names = folder.names();
        if (std::ranges::find(names, "out.csv.log") == names.end()) {  // killed before it began, or after it had ended
            kept = 0;
            continue;
        }
        const std::size_t now = lines(content_of(folder / "out.csv.log"));
        EXPECT_GE(now + 1, kept) << "a line that was cut off may go";
        kept = now;
    }
    ASSERT_EQ(exit, 0);
    EXPECT_EQ(content_of(folder / "out.csv"), content_of(folder / "whole.csv"));
    EXPECT_EQ(content_of(folder / "out.json"), content_of(folder / "whole.json"));
    EXPECT_EQ(folder.names(), (std::vector<std::string>{"out.csv", "out.json", "whole.csv", "whole.json"}));
}

}  // namespace
}  // namespace orrery::cli
