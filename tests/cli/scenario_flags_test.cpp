// The usual keys of a scenario as options: alone, and on top of a file.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/cli/process.hpp"

namespace orrery::cli {
namespace {

using Json = nlohmann::json;
using Words = std::vector<std::string>;

Words llama(const Words& more) {
    Words words{"simulate", "--model",        "llama3-8b", "--cluster",    "dgx-h100", "--gpus",      "16",  "--tensor",
                "2",        "--global-batch", "32",        "--seq-length", "4096",     "--precision", "bf16"};
    words.insert(words.end(), more.begin(), more.end());
    return words;
}

TEST(ScenarioFlags, MakeTheScenarioThatAFileWouldBe) {
    const Folder folder;
    const std::string file = folder.file("same.json", R"({
        "name": "llama3-8b on dgx-h100", "model": {"name": "llama3-8b"},
        "cluster": {"preset": "dgx-h100", "nodes": 2}, "strategy": {"tensor": 2},
        "training": {"global_batch_size": 32, "seq_length": 4096, "precision": "bf16"}})");
    const Result flags = orrery(llama({"--json", "-"})), read = orrery({"simulate", file, "--json", "-"});
    ASSERT_EQ(flags.exit, 0) << flags.err;
    ASSERT_EQ(read.exit, 0) << read.err;
    EXPECT_EQ(flags.out, read.out);
}

TEST(ScenarioFlags, ChangeAFileAsSetDoes) {
    const std::string file = "scenarios/gpt-1.7b-dgx-a100.json";
    const Result flags =
        orrery({"simulate", file, "--tensor", "2", "--data", "16", "--micro-batch", "2", "--json", "-"});
    const Result set = orrery({"simulate", file, "--set", "strategy.tensor=2", "--set", "strategy.data=16", "--set",
                               "training.micro_batch_size=2", "--json", "-"});
    EXPECT_EQ(flags.exit, 0) << flags.err;
    EXPECT_EQ(set.exit, 0) << set.err;
    EXPECT_EQ(flags.out, set.out);
}

/// Four of a node's eight GPUs are a node of four; a rack's NVLink domain, too, is taken in part.
TEST(ScenarioFlags, FewerGpusThanANodeAreAPartOfOne) {
    const Words rest{"--global-batch", "32", "--seq-length", "4096", "--json", "-"};
    for (const auto& [cluster, gpus] : {std::pair{"dgx-h100", "4"}, {"gb200-nvl72", "8"}}) {
        Words part{"simulate", "--model", "llama3.2-1b", "--cluster", cluster}, node = part;
        for (Words* const words : {&part, &node}) words->insert(words->end(), rest.begin(), rest.end());
        part.insert(part.end(), {"--gpus", gpus});
        node.insert(node.end(), {"--nodes", "1", "--set", std::string("cluster.gpus_per_node=") + gpus});
        const Result by_gpus = orrery(part), by_node = orrery(node);
        EXPECT_EQ(by_gpus.exit, 0) << by_gpus.err;
        for (const char* key : {"step_time_s", "breakdown_s", "memory_bytes", "advice"})
            EXPECT_EQ(Json::parse(by_gpus.out)[key], Json::parse(by_node.out)[key]) << key;
        EXPECT_EQ(Json::parse(by_gpus.out)["scenario"]["cluster"]["gpus_per_node"], std::stoi(gpus));
    }
}

TEST(ScenarioFlags, ChangeAPipeToo) {
    const std::string file = "scenarios/gpt-1.7b-dgx-a100.json";
    const std::string piped =
        "cat " + file + " | " ORRERY_PROGRAM " simulate /dev/stdin --tensor 2 --data 16 --json - 2>&1";
    const Result from_pipe = Running(Command{{"sh", "-c", piped}}).wait();
    EXPECT_EQ(from_pipe.out, orrery({"simulate", file, "--tensor", "2", "--data", "16", "--json", "-"}).out);
    EXPECT_EQ(from_pipe.exit, 0);
}

TEST(ScenarioFlags, AReportNamesTheCommandThatMadeIt) {
    const Result sweep = orrery({"sweep", "--model", "llama3-8b", "--cluster", "dgx-h100", "--global-batch", "32",
                                 "--seq-length", "4096", "--vary", "gpus=8..16x2"});
    EXPECT_EQ(sweep.exit, 0) << sweep.err;
    EXPECT_NE(sweep.out.find("llama3-8b on dgx-h100"), std::string::npos) << sweep.out;
}

TEST(ScenarioFlags, WhatIsWrongIsNamedWithItsRemedy) {
    const struct {
        Words words;
        const char* said;
    } wrongs[] = {
        {{"simulate"}, "no SCENARIO is named"},
        {llama({"--nodes", "2"}), "--gpus and --nodes say the same"},
        {{"simulate", "--model", "llama3-8b", "--cluster", "dgx-h100", "--gpus", "12"},
         "no whole number of nodes of 8"},
        {{"simulate", "--model", "lama3-8b", "--cluster", "dgx-h100", "--seq-length", "4096", "--global-batch", "8"},
         "llama3-8b"},
        {{"simulate", "--model", "llama3-8b"}, "cluster"},
        {{"simulate", "--model", "llama3-8b", "--gpu", "RTX-4090", "--gpus", "8"}, "unknown GPU \"RTX-4090\""},
        {{"simulate", "--model", "llama3-8b", "--cluster", "dgx-h100", "--gpus", "8", "--global-batch", "8"},
         "add --seq-length: tokens of a sequence"},
        {llama({"--sharding", "zero4"}), "zero3"},
    };
    for (const auto& wrong : wrongs) {
        const Result result = orrery(wrong.words);
        EXPECT_EQ(result.exit, 2) << result.out;
        EXPECT_NE(result.err.find(wrong.said), std::string::npos) << wrong.said << " is missing from\n" << result.err;
        EXPECT_NE(result.err.find("hint:"), std::string::npos) << result.err;
    }
}

TEST(ScenarioFlags, ListNamesEveryGpu) {
    const Result list = orrery({"list", "gpus"});
    EXPECT_EQ(list.exit, 0) << list.err;
    for (const char* name : {"V100-SXM2-16GB", "A100-SXM4-80GB", "H100-SXM5-80GB", "989.4"})
        EXPECT_NE(list.out.find(name), std::string::npos) << name << " is missing from\n" << list.out;
}

}  // namespace
}  // namespace orrery::cli
