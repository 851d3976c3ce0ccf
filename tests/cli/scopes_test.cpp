// Plans written in Whale's scopes, by the command line: predictions to the byte those of the keys that say the same.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/cli/process.hpp"

namespace orrery::cli {
namespace {

using Json = nlohmann::json;

std::string predicted(const std::string& scenario, const std::vector<std::string>& set = {}) {
    std::vector<std::string> arguments{"simulate", scenario, "--json", "-", "--quiet"};
    for (const std::string& text : set) arguments.insert(arguments.end(), {"--set", text});
    const Result result = orrery(arguments);
    EXPECT_EQ(result.exit, 0) << result.err;
    return result.out;
}

TEST(Scopes, PredictTheLecturesAsTheirKeysDo) {
    const std::string bert = "lectures/whale-bert-large", classes = "lectures/whale-100k-classes",
                      experts = "lectures/m6-moe-1t";
    EXPECT_EQ(predicted(bert, {"training.micro_batch_size=null", R"(strategy={"overlap_grad_reduce": true,
                  "scopes": {"replica": 21, "of": {"num_micro_batch": 9, "strategy": "PreferBackward",
                      "pipeline": [{"stage": "0-7"}, {"stage": "8-15"}, {"stage": "8 layers"}]}}})"}),
              predicted(bert));
    EXPECT_EQ(predicted(classes, {R"(strategy={"scopes": [{"replica": 32, "of": "backbone"},
                                                          {"split": 32, "of": "classifier"}]})"}),
              predicted(classes));
    EXPECT_EQ(predicted(experts, {R"(strategy={"overlap_grad_reduce": true, "recompute": "full",
                  "scopes": [{"replica": 480}, {"split": 480, "of": "experts"}]})"}),
              predicted(experts));
}

TEST(Scopes, TheShippedExampleIsItsNeighboursPlan) {
    Json keys = Json::parse(predicted("lectures/whale-bert-large"));
    Json scopes = Json::parse(predicted("bert-large-scopes-ethernet"));
    for (Json* const report : {&keys, &scopes})
        for (Json& part : *report)
            if (part.is_object()) part.erase("name");
    for (const char* key : {"scenario", "name"}) {
        keys.erase(key);
        scopes.erase(key);
    }
    EXPECT_EQ(scopes, keys);
}

/// Sweeps, searches and partitions change keys behind the scopes.
TEST(Scopes, AreSweptSearchedAndPartitioned) {
    const std::string scopes = "bert-large-scopes-ethernet", keys = "lectures/whale-bert-large";
    const auto rows = [](const std::string& scenario) {
        const Result result =
            orrery({"sweep", scenario, "--vary", "strategy.tensor=1,2", "--vary", "strategy.data=7,3", "--set",
                    "training.global_batch_size=1008", "--set", "training.micro_batch_size=2", "--format", "csv"});
        EXPECT_EQ(result.exit, 0) << result.err;
        return result.out;
    };
    EXPECT_EQ(rows(scopes), rows(keys));
    const auto best = [](const std::string& strategy) {
        const Result result =
            orrery({"search", "gpt-tiny-cpu", "--set", "strategy=" + strategy, "--top", "1", "--format", "csv"});
        EXPECT_EQ(result.exit, 0) << result.err;
        return result.out;
    };
    EXPECT_EQ(best(R"({"scopes": {"auto_parallel": "pipeline", "num_stages": 2}})"), best("{}"));
    const Result divided = orrery({"partition", scopes, "--format", "json"});
    ASSERT_EQ(divided.exit, 0) << divided.err;
    const auto layers = Json::parse(divided.out).at("balanced").at("pipeline_layers").get<std::string>();
    EXPECT_NE(layers, "8,8,8");
    EXPECT_NE(predicted(scopes, {"strategy.pipeline_layers=" + layers}), "");
}

TEST(Scopes, PlansOfAQuestionAreNamedByTheirKeys) {
    const auto answer = [](const char* strategy) {
        Json question = Json::parse(R"({"model": {"name": "gpt3-1.3b"}, "tokens": "100B", "deadline": "90 days",
            "training": {"seq_length": 2048, "micro_batch_size": 1, "global_batch_size": 512},
            "candidates": [{"name": "A100", "cluster": {"preset": "dgx-a100", "nodes": 4}}]})");
        question["strategies"] = Json::array({Json::parse(strategy)});
        const Folder folder;
        const Result result = orrery({"capacity", folder.file("q.json", question.dump())});
        EXPECT_EQ(result.exit, 0) << result.err;
        return result.out;
    };
    const std::string said =
        answer(R"({"scopes": {"auto_parallel": "pipeline", "num_stages": 2, "of": {"split": 4}}})");
    EXPECT_EQ(said, answer(R"({"tensor": 4, "pipeline": 2})"));
    EXPECT_NE(said.find("TP4 PP2 DP4"), std::string::npos) << said;
}

/// What is varied in scopes says how many replicas there are: they do not fill a cluster of another size.
TEST(Scopes, SweptReplicasDoNotFillTheCluster) {
    const Result result = orrery({"sweep", "bert-large-scopes-ethernet", "--vary", "strategy.scopes.replica=7,14",
                                  "--vary", "cluster.nodes=8,16", "--format", "csv"});
    ASSERT_EQ(result.exit, 0) << result.err;
    for (const char* row : {"7,8,", "7,16,", "14,8,", "14,16,"}) {
        const std::size_t at = result.out.find(std::string("\n") + row);  // replicas, nodes, the order, GPUs
        ASSERT_NE(at, std::string::npos) << row << result.out;
        const std::string gpus = std::string(row).starts_with("7,") ? ",21," : ",42,";
        EXPECT_EQ(result.out.find(gpus, at), at + 1 + std::string(row).size() + 1) << row << result.out;
    }
}

TEST(Scopes, AreRefusedWithTheirPlace) {
    const Result result = orrery({"simulate", "bert-large-scopes-ethernet", "--set",
                                  R"(strategy.scopes.of.pipeline.2={"stage": "16-23", "of": {"replica": 2}})"});
    EXPECT_EQ(result.exit, 2);
    EXPECT_NE(result.err.find("/strategy/scopes/of/pipeline/2/of: 2 replicas, but the first stage has 1 replica"),
              std::string::npos)
        << result.err;
    EXPECT_NE(result.err.find("hint: divide all stages alike"), std::string::npos) << result.err;
}

}  // namespace
}  // namespace orrery::cli
