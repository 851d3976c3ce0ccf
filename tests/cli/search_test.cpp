// orrery search: what it says and writes, what it refuses, and that a kill costs nothing that was finished.
#include <gtest/gtest.h>

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

/// Small enough that the whole space takes a second.
std::string scenario() {
    return R"({"model": {"name": "small", "num_hidden_layers": 8, "hidden_size": 1024, "num_attention_heads": 8,
                         "vocab_size": 20000, "max_position_embeddings": 1024},
        "cluster": {"preset": "dgx-a100", "nodes": 2}, "strategy": {"tensor": 2, "pipeline": 2},
        "training": {"seq_length": 512, "micro_batch_size": 1, "global_batch_size": 32}})";
}

std::vector<std::string> search_of(const std::string& file, const std::vector<std::string>& more = {}) {
    std::vector<std::string> arguments{"search", file, "--fix", "strategy.cpu_offloading_num_layers=0"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
}

TEST(Search, SaysWhatItLookedAtAndHowToRunTheBest) {
    const Folder folder;
    const std::string file = folder.file("s.json", scenario());
    const Result result = orrery(search_of(file, {"--json", folder / "out.json", "--csv", folder / "out.csv"}));
    ASSERT_EQ(result.exit, 0) << result.err;
    for (const char* word : {"enumerated", "do not fit into memory", "excluded by their bound", "simulated", "proven: ",
                             "TP", "sharding", "the scenario's own plan", "run the best with:", "orrery simulate"})
        EXPECT_NE(result.out.find(word), std::string::npos) << word << " is missing from\n" << result.out;
    EXPECT_EQ(folder.names(), (std::vector<std::string>{"out.csv", "out.json", "s.json"})) << "the log has served";
    const Json json = Json::parse(content_of(folder / "out.json"));
    EXPECT_EQ(json.at("proven"), true);
    const Json& counts = json.at("counts");
    EXPECT_EQ(counts.at("enumerated").get<std::uint64_t>(), counts.at("do_not_fit").get<std::uint64_t>() +
                                                                counts.at("excluded_by_bound").get<std::uint64_t>() +
                                                                counts.at("simulated").get<std::uint64_t>());
    ASSERT_EQ(json.at("best").size(), 10U);
    double before = 0;
    for (const Json& plan : json.at("best")) {
        EXPECT_GE(plan.at("step_time_s").get<double>(), before);
        before = plan.at("step_time_s");
    }
    EXPECT_LE(json.at("best").at(0).at("step_time_s"), json.at("own").at("step_time_s"));
    std::vector<std::string> simulate{"simulate", file, "--json", "-"};
    for (const Json& change : json.at("best").at(0).at("set")) simulate.insert(simulate.end(), {"--set", change});
    EXPECT_EQ(Json::parse(orrery(simulate).out).at("step_time_s"), json.at("best").at(0).at("step_time_s"));
}

/// What an hour costs is the GPUs that are held: idle ones and spare nodes' too, here as in simulate.
TEST(Search, PaysForSpareNodesAsSimulateDoes) {
    const Folder folder;
    const std::string file = folder.file("s.json", scenario());
    const std::vector<std::string> more{"--set", "outputs.token_budget=1e9",
                                        "--set", "reliability.node_mtbf=10 days",
                                        "--set", "reliability.repair=2 days",
                                        "--set", "reliability.spare_nodes=3",
                                        "--set", "checkpoint={}"};
    std::vector<std::string> search = search_of(file, {"--gpus", "8,16", "--objective", "cost", "--top", "1", "--fix",
                                                       "strategy.tensor=1", "--json", "-", "--quiet"});
    search.insert(search.end(), more.begin(), more.end());
    const Result found = orrery(search);
    ASSERT_EQ(found.exit, 0) << found.err;
    const Json answer = Json::parse(found.out);
    for (const Json& cluster : answer.at("clusters")) {
        std::vector<std::string> simulate{"simulate", file, "--json", "-", "--quiet"};
        simulate.insert(simulate.end(), more.begin(), more.end());
        for (const Json& change : cluster.at("set")) simulate.insert(simulate.end(), {"--set", change});
        const Result one = orrery(simulate);
        ASSERT_EQ(one.exit, 0) << one.err;
        const Json run = Json::parse(one.out).at("whole_run");
        const double held = cluster.at("gpus").get<double>() + 3 * 8;
        EXPECT_NEAR(run.at("gpu_hours"), held * run.at("wall_clock_s").get<double>() / 3600, 1e-9 * held);
        EXPECT_NEAR(cluster.at("gpu_hours"), run.at("gpu_hours"), 1e-6 * held);
    }
    EXPECT_EQ(answer.at("clusters").size(), 2U);
}

/// GPUs of a cluster that is said to have so many nodes are paid for although no rank runs on them.
TEST(Simulate, PaysForTheGpusThatAPlanLeavesIdle) {
    const Folder folder;
    const std::string file = folder.file("s.json", scenario());
    const Result half = orrery({"simulate", file, "--json", "-", "--quiet", "--data", "2", "--set", "checkpoint={}",
                                "--set", "outputs.token_budget=1e9"});
    ASSERT_EQ(half.exit, 0) << half.err;
    const Json run = Json::parse(half.out).at("whole_run");
    EXPECT_NEAR(run.at("gpu_hours"), 16 * run.at("wall_clock_s").get<double>() / 3600, 1e-9);
}

/// What it prints is a command line of the same scenario, also where options made or changed it.
TEST(Search, TheCommandThatRunsTheBestIsOfTheScenarioThatWasAskedAbout) {
    const Folder folder;
    const std::vector<std::vector<std::string>> asked{
        {"--model", "gpt2", "--cluster", "dgx-a100", "--nodes", "1", "--global-batch", "16", "--seq-length", "512"},
        {folder.file("s.json", scenario()), "--set", "training.seq_length=512"}};
    for (const std::vector<std::string>& words : asked) {
        std::vector<std::string> command{"search", "--top", "1", "--json", folder / "out.json"};
        command.insert(command.end(), words.begin(), words.end());
        const Result result = orrery(command);
        ASSERT_EQ(result.exit, 0) << result.err;
        const std::string before = "run the best with:\n    orrery ";
        const std::size_t at = result.out.find(before);
        ASSERT_NE(at, std::string::npos) << result.out;
        const std::string line =
            result.out.substr(at + before.size(), result.out.find('\n', at + before.size()) - at - before.size());
        const std::string file = folder / "best.json";
        for (std::size_t i = 0; i + 1 < words.size(); ++i) {
            if (words[i] != "--set") continue;
            EXPECT_EQ(line.find(words[i + 1]), line.rfind(words[i + 1])) << line << " says it twice";
        }
        ASSERT_EQ(std::system((ORRERY_PROGRAM " " + line + " --quiet --json " + file).c_str()), 0) << line;
        EXPECT_EQ(Json::parse(content_of(file)).at("step_time_s"),
                  Json::parse(content_of(folder / "out.json")).at("best").at(0).at("step_time_s"))
            << line;
    }
}

/// What an option says of a plan is held, as --fix holds it.
TEST(Search, HoldsWhatOptionsSayOfPlans) {
    const Folder folder;
    const std::string file = folder.file("s.json", scenario());
    const auto best = [&](const std::vector<std::string>& more) {
        const Result result = orrery(search_of(file, more));
        EXPECT_EQ(result.exit, 0) << result.err;
        return Json::parse(result.out);
    };
    const Json held = best({"--tensor", "4", "--json", "-"}),
               fixed = best({"--fix", "strategy.tensor=4", "--json", "-"});
    EXPECT_EQ(held.at("counts"), fixed.at("counts"));
    ASSERT_EQ(held.at("best").size(), fixed.at("best").size());
    for (std::size_t i = 0; i < held.at("best").size(); ++i) {
        EXPECT_EQ(held.at("best").at(i).at("step_time_s"), fixed.at("best").at(i).at("step_time_s"));
        EXPECT_EQ(held.at("best").at(i).at("strategy").at("tensor"), 4);
    }
}

TEST(Search, GoesOverSizesAndKindsOfClusters) {
    const Folder folder;
    const Result result =
        orrery(search_of(folder.file("s.json", scenario()), {"--gpus", "8..16", "--gpu", "A100-80GB,A100-40GB",
                                                             "--objective", "cost", "--top", "2", "--json", "-"}));
    ASSERT_EQ(result.exit, 0) << result.err;
    const Json json = Json::parse(result.out);
    EXPECT_EQ(json.at("best").size(), 2U);
    EXPECT_TRUE(json.at("best").at(0).at("site").contains("gpus"));
    EXPECT_TRUE(json.at("best").at(0).at("site").contains("cluster.gpu"));
    const Json& clusters = json.at("clusters");
    ASSERT_EQ(clusters.size(), 4U) << "two sizes of two kinds";
    EXPECT_EQ(clusters.at(0).at("on_front"), true) << "none is faster than the first";
    for (const Json& cluster : clusters)
        EXPECT_NEAR(cluster.at("gpu_hours").get<double>() * 3600,
                    cluster.at("time_s").get<double>() * cluster.at("gpus").get<double>(), 1e-3);
}

TEST(Search, CountsMoneyAndEnergy) {
    const Folder folder;
    const std::string file = folder.file("s.json", scenario());
    const auto best = [&](const std::vector<std::string>& more) {
        std::vector<std::string> words{"--gpu", "A100-80GB,A100-40GB", "--top", "1", "--json", "-"};
        words.insert(words.end(), more.begin(), more.end());
        const Result result = orrery(search_of(file, words));
        EXPECT_EQ(result.exit, 0) << result.err;
        return Json::parse(result.out).at("best").at(0);
    };
    const Json dear = best({"--objective", "cost", "--price", "A100-80GB=9", "--price", "A100-40GB=1"});
    EXPECT_EQ(dear.at("site").at("cluster.gpu"), "A100-40GB");
    const Json cheap = best({"--objective", "cost", "--price", "A100-80GB=1", "--price", "A100-40GB=9"});
    EXPECT_EQ(cheap.at("site").at("cluster.gpu"), "A100-80GB");
    const double hours = cheap.at("step_time_s").get<double>() / 3600 * 16;
    EXPECT_NEAR(cheap.at("cost/Gtoken").get<double>(), hours / (32 * 512) * 1e9, 1e-6 * hours * 1e5);
    const Json least = best({"--objective", "energy"});
    EXPECT_NEAR(least.at("MWh/Gtoken").get<double>(),
                least.at("step_time_s").get<double>() * 16 * 400 / 3.6e9 / (32 * 512) * 1e9, 1e-6);
}

TEST(Search, WhatCannotBeAskedEndsWithTwoAndARemedy) {
    const Folder folder;
    const std::string file = folder.file("s.json", scenario());
    const std::vector<std::vector<std::string>> refused{
        {"--top", "0"},
        {"--gpus", "0"},
        {"--gpus", "16..8"},
        {"--gpus", "many"},
        {"--gpus", ""},
        {"--gpu", "A1000"},
        {"--objective", "beauty"},
        {"--objective", "cost", "--price", "A100-80GB=-2"},
        {"--objective", "cost", "--price", "A100-80GB"},
        {"--objective", "cost", "--price", "A1000=2"},
        {"--objective", "cost", "--price", "A100=2", "--price", "A100-80GB=3"},
        {"--objective", "cost", "--price", "H100=2"},
        {"--gpus", "16", "--nodes", "2"},
        {"--gpus", "16", "--fix", "cluster.nodes=2"},
        {"--gpus", "16", "--set", "cluster.nodes=2"},
        {"--fix", "strategy.tensor=2", "--fix", "strategy.tensor=1"},
        {"--fix", "strategy.tensor=2", "--vary", "strategy.tensor=1,2"},
        {"--tensor", "2", "--fix", "strategy.tensor=2"},
        {"--fix", "strategy.tensr=2"},
        {"--fix", "strategy.tensor"},
        {"--fix", "strategy.tensor=two"},
        {"--fix", "strategy.tensor=3"},
        {"--fix", "strategy.tensor_mode=2d"},
        {"--vary", "strategy.compression=none,onebit"},
        {"--vary", "training.micro_batch_size=8..1x2"},
        {"--vary", "seed=1..100000 +1", "--vary", "perturbations.jitter=0..1 +0.001"},
        {"--set", "perturbations.jitter=0.1"},
        {"--set", "perturbations.stragglers=[{\"rank\": 1, \"factor\": 2}]"},
        {"--set", "training.frozen_layers=1", "--set", "model.tie_word_embeddings=false"},
        {"--set", "training.lora_rank=8"},
        {"--set", "model.num_experts=8", "--set", "strategy.overlap_moe_expert_parallel_comm=true"},
        {"--set", "model.hidden_size=65536", "--set", "model.num_hidden_layers=512"},
        {"--idle", "2"},
        {"--csv", folder / "no/such/folder.csv"},
        {"--csv", file},
    };
    for (const auto& more : refused) {
        const Result result = orrery(search_of(file, more));
        EXPECT_EQ(result.exit, 2) << more.front() << ' ' << more.back() << '\n' << result.out << result.err;
        EXPECT_TRUE(result.err.starts_with("orrery: error: ")) << result.err;
        EXPECT_EQ(result.out, "");
        EXPECT_EQ(folder.names(), std::vector<std::string>{"s.json"}) << more.front();
    }
}

TEST(Search, KillsLoseNothingThatWasFinished) {
    const Folder folder;
    const std::string file = folder.file("s.json", scenario());
    ASSERT_EQ(orrery(search_of(file, {"--top", "40", "--csv", folder / "whole.csv"})).exit, 0);
    const auto arguments = search_of(file, {"--top", "40", "--csv", folder / "out.csv"});
    std::mt19937 random(7);
    int exit = -1;
    for (int run = 0; run < 100 && exit != 0; ++run) {
        Running search(arguments);
        std::this_thread::sleep_for(std::chrono::milliseconds(20 + random() % 200));
        if (run < 10) ::kill(search.process(), SIGKILL);
        exit = search.wait().exit;
    }
    ASSERT_EQ(exit, 0);
    EXPECT_EQ(content_of(folder / "out.csv"), content_of(folder / "whole.csv"));
}

}  // namespace
}  // namespace orrery::cli
