// orrery partition: layers among stages, by the command line.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/cli/process.hpp"

namespace orrery::cli {
namespace {

using Json = nlohmann::json;

constexpr const char* vgg = "scenarios/lectures/pipedream-vgg-16.json";
constexpr const char* gpt = "scenarios/gpt-1.7b-dgx-a100.json";

Json stages_of(const Result& result) {
    EXPECT_EQ(result.exit, 0) << result.err;
    return Json::parse(result.out).at("replicated").at("stages");
}

/// Narayanan et al., SOSP'19, table 1: "15-1", convolutions on fifteen workers and what follows them on one.
TEST(Partition, DividesVggAsPipeDreamDoes) {
    const Json stages = stages_of(orrery({"partition", vgg, "--format", "json"}));
    ASSERT_EQ(stages.size(), 2U);
    EXPECT_EQ(stages.at(0).at("workers"), 15);
    EXPECT_EQ(stages.at(1).at("workers"), 1);
    EXPECT_EQ(stages.at(1).at("first_layer"), 13) << "fc6";
}

/// The same table: data parallelism of ResNet-50 on both clusters.
TEST(Partition, LeavesResNetWholeAsPipeDreamDoes) {
    const Json stages =
        stages_of(orrery({"partition", vgg, "--set", "model.name=resnet-50", "--set", "training.micro_batch_size=128",
                          "--set", "training.global_batch_size=2048", "--format", "json"}));
    ASSERT_EQ(stages.size(), 1U);
    EXPECT_EQ(stages.at(0).at("workers"), 16);
}

TEST(Partition, WhatItBalancesCanBeSimulated) {
    const std::vector<std::string> four{"--set", "strategy.tensor=1", "--set", "strategy.pipeline=4",
                                        "--set", "strategy.data=8"};
    std::vector<std::string> ask{"partition", gpt, "--format", "json"};
    ask.insert(ask.end(), four.begin(), four.end());
    const Result result = orrery(ask);
    ASSERT_EQ(result.exit, 0) << result.err;
    const Json answer = Json::parse(result.out);
    const Json& balanced = answer.at("balanced");
    EXPECT_LE(balanced.at("step_time_s"), answer.at("planned").at("step_time_s"));
    std::vector<std::string> simulate{
        "simulate", gpt,     "--json",
        "-",        "--set", "strategy.pipeline_layers=" + balanced.at("pipeline_layers").get<std::string>()};
    simulate.insert(simulate.end(), four.begin(), four.end());
    const Result simulated = orrery(simulate);
    ASSERT_EQ(simulated.exit, 0) << simulated.err;
    EXPECT_EQ(Json::parse(simulated.out).at("step_time_s"), balanced.at("step_time_s"));
}

TEST(Partition, SharesTheBatchAmongSeveralKindsOfGpu) {
    const std::vector<std::string> one_stage{"scenarios/gpt-1.3b-a100-h100.json", "--set", "strategy.pipeline=1",
                                             "--set", "strategy.data=16"};
    const auto asked = [&](const std::string& command, const std::vector<std::string>& more) {
        std::vector<std::string> words{command};
        words.insert(words.end(), one_stage.begin(), one_stage.end());
        words.insert(words.end(), more.begin(), more.end());
        const Result result = orrery(words);
        EXPECT_EQ(result.exit, 0) << result.err;
        return result.out;
    };
    const Json shares = Json::parse(asked("partition", {"--format", "json"})).at("shares");
    const std::string list = shares.at("balanced").at("replica_micro_batches");
    EXPECT_EQ(list, "8x4,8x12");
    const std::string set = "strategy.replica_micro_batches=" + list;
    EXPECT_NE(asked("partition", {}).find(set), std::string::npos);
    const Json simulated = Json::parse(asked("simulate", {"--set", set, "--json", "-"}));
    EXPECT_EQ(simulated.at("step_time_s"), shares.at("balanced").at("step_time_s"));
}

TEST(Partition, SaysWhyNothingCanBeDivided) {
    const Result result =
        orrery({"partition", "scenarios/mixtral-8x7b-superpod-h100.json", "--set", "strategy.pipeline=1", "--set",
                "strategy.virtual_pipeline=1", "--set", "strategy.overlap_p2p=false"});
    EXPECT_EQ(result.exit, 2);
    EXPECT_NE(result.err.find("experts"), std::string::npos) << result.err;
}

}  // namespace
}  // namespace orrery::cli
