// Whale's scopes come to the keys that say the same; what no key says is refused where it stands.
#include "scenarios/scopes.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <random>

#include "documents/write_fields.hpp"
#include "scenarios/override.hpp"
#include "scenarios/stage_layers.hpp"
#include "strategies/plan_fields.hpp"
#include "tests/scenarios/expect_error.hpp"
#include "tests/scenarios/random_scenario.hpp"
#include "tests/scenarios/temporary_file.hpp"

namespace orrery::scenarios {
namespace {

using nlohmann::json;

/// 64 GPUs.
json scenario(const std::string& model, const std::string& strategy, const std::string& training = "{}") {
    json document{{"model", {{"name", model}}},
                  {"cluster", {{"preset", "superpod-a100"}, {"nodes", 8}}},
                  {"strategy", json::parse(strategy)},
                  {"training", {{"seq_length", 512}, {"global_batch_size", 192}}}};
    document["training"].update(json::parse(training));
    return document;
}
json gpt(const std::string& strategy, const std::string& training = "{}") {
    return scenario("gpt3-1.3b", strategy, training);
}
json mixtral(const std::string& strategy) { return scenario("mixtral-8x7b", strategy); }
json images(const std::string& strategy) {
    return scenario("resnet-50-100k", strategy, R"({"seq_length": 1, "optimizer": "momentum"})");
}
std::string scoped(const std::string& scopes) { return R"({"scopes": )" + scopes + "}"; }

strategies::Plan plan(const json& document) { return from_json(document, "x.json").plan; }

std::string all_of(const strategies::Plan& plan) {
    return documents::write_fields(strategies::strategy_fields(), plan.strategy).dump() +
           documents::write_fields(strategies::training_fields(), plan.training).dump();
}
void expect_same(const json& scopes, const json& keys) {
    EXPECT_EQ(all_of(plan(scopes)), all_of(plan(keys))) << scopes["strategy"] << '\n' << keys["strategy"];
}

using Make = json (*)(const std::string& strategy);
const Make of_gpt = [](const std::string& strategy) { return gpt(strategy); };

struct Same {
    Make make;
    const char *scopes, *keys;
};

TEST(Scopes, AreTheKeysThatSayTheSame) {
    for (const Same& each : {
             // Data and tensor parallelism, alone and in each other.
             Same{of_gpt, R"({"replica": 8})", R"({"data": 8})"},
             Same{of_gpt, R"([{"replica": 8}])", R"({"data": 8})"},
             Same{of_gpt, R"({"replica": 8, "of": "layers"})", R"({"data": 8})"},
             Same{of_gpt, R"({"replica": 2, "of": {"replica": 4}})", R"({"data": 8})"},
             Same{of_gpt, R"({"split": 8})", R"({"tensor": 8})"},
             Same{of_gpt, R"({"replica": 4, "of": {"split": 8}})", R"({"data": 4, "tensor": 8})"},
             Same{of_gpt, R"({"auto_parallel": "replica"})", "{}"},
             Same{of_gpt, R"({"auto_parallel": "replica", "of": {"split": 8, "of": "layers"}})", R"({"tensor": 8})"},
             // Pipelines of 24 layers.
             Same{of_gpt, R"({"replica": 2, "of": {"pipeline": [{"stage": "0-11"}, {"stage": "12 layers"}]}})",
                  R"({"data": 2, "pipeline": 2})"},
             Same{of_gpt, R"({"pipeline": [{"stage": "11 layers"}, {"stage": "11-23"}]})",
                  R"({"pipeline": 2, "pipeline_layers": "11,13"})"},
             Same{of_gpt, R"({"pipeline": [{"stage": "0 layers"}, {"stage": "0-23"}]})",
                  R"({"pipeline": 2, "pipeline_layers": "0,24"})"},
             Same{of_gpt, R"({"pipeline": [{"stage": "0-23"}]})", R"({"pipeline": 1})"},
             Same{of_gpt,
                  R"({"replica": 3, "of": {"pipeline": [{"stage": "0-11", "of": {"replica": 2, "of": {"split": 4}}},
                      {"stage": "12-23", "of": {"replica": 2, "of": {"split": 4}}}]}})",
                  R"({"data": 6, "pipeline": 2, "tensor": 4})"},
             Same{of_gpt, R"({"auto_parallel": "pipeline", "num_stages": 4})", R"({"pipeline": 4})"},
             Same{of_gpt, R"({"auto_parallel": "pipeline", "num_stages": 5, "of": {"replica": 3, "of": {"split": 2}}})",
                  R"({"pipeline": 5, "data": 3, "tensor": 2, "pipeline_layers": "5,5,5,5,4"})"},
             Same{of_gpt,
                  R"({"auto_parallel": "replica", "of": {"auto_parallel": "pipeline", "num_stages": 4,
                      "strategy": "PreferForward"}})",
                  R"({"pipeline": 4, "schedule": "gpipe"})"},
             Same{of_gpt, R"({"auto_parallel": "pipeline", "num_stages": 2, "strategy": "PreferBackward"})",
                  R"({"pipeline": 2, "schedule": "1f1b"})"},
             // Experts, of which there are eight.
             Same{mixtral, R"([{"replica": 8}, {"split": 8, "of": "experts"}])", R"({"data": 8, "expert": 8})"},
             Same{mixtral, R"([{"split": 8, "of": "experts"}, {"replica": 8, "of": "layers"}])",
                  R"({"data": 8, "expert": 8})"},
             Same{mixtral, R"([{"replica": 32}, {"replica": 4, "of": {"split": 8, "of": "experts"}}])",
                  R"({"data": 32, "expert": 8})"},
             Same{mixtral, R"({"replica": 4, "of": [{"replica": 8}, {"split": 8, "of": "experts"}]})",
                  R"({"data": 32, "expert": 8})"},
             Same{mixtral, R"([{"replica": 8}, {"replica": 8, "of": "experts"}])", R"({"data": 8})"},
             Same{mixtral, R"([{"auto_parallel": "replica"}, {"split": 8, "of": "experts"}])", R"({"expert": 8})"},
             Same{mixtral,
                  R"({"pipeline": [{"stage": "0-15", "of": [{"replica": 8}, {"split": 8, "of": "experts"}]},
                      {"stage": "16-31", "of": [{"replica": 8}, {"split": 8, "of": "experts"}]}]})",
                  R"({"pipeline": 2, "data": 8, "expert": 8})"},
             // A split classifier beside a replicated backbone (Whale, section 5.1.2).
             Same{images, R"([{"replica": 64, "of": "backbone"}, {"split": 64, "of": "classifier"}])",
                  R"({"data": 64, "split_classes": 64})"},
             Same{images,
                  R"({"replica": 4, "of": [{"replica": 8, "of": "backbone"}, {"split": 8, "of": "classifier"}]})",
                  R"({"data": 32, "split_classes": 8})"},
             Same{images, R"({"replica": 64})", R"({"data": 64})"},
         })
        expect_same(each.make(scoped(each.scopes)), each.make(each.keys));
}

TEST(Scopes, StandBesideKeysThatSayOtherThings) {
    // Whole experts on tensor ranks, and each split over all of them.
    expect_same(mixtral(R"({"sequence_parallel": true,
                            "scopes": {"replica": 4, "of": [{"split": 8}, {"split": 8, "of": "experts"}]}})"),
                mixtral(R"({"sequence_parallel": true, "data": 4, "tensor": 8, "expert": 8, "expert_tensor": 1})"));
    expect_same(mixtral(R"({"sequence_parallel": true, "scopes": [{"replica": 4, "of": {"split": 8}},
                            {"split": 4, "of": {"split": 8, "of": "experts"}}]})"),
                mixtral(R"({"sequence_parallel": true, "data": 4, "tensor": 8, "expert": 4})"));
    // Ranks that share sequences are GPUs of a replica, among which experts are divided too.
    expect_same(mixtral(R"({"context": 2, "scopes": [{"replica": 4}, {"split": 8, "of": "experts"}]})"),
                mixtral(R"({"context": 2, "data": 4, "expert": 8})"));
    expect_same(gpt(R"({"virtual_pipeline": 2, "scopes": {"auto_parallel": "pipeline", "num_stages": 4}})"),
                gpt(R"({"virtual_pipeline": 2, "pipeline": 4})"));
    expect_same(gpt(R"({"virtual_pipeline": 2, "scopes": {"auto_parallel": "pipeline", "num_stages": 8}})"),
                gpt(R"({"virtual_pipeline": 2, "pipeline": 8, "pipeline_layers": "1,1,1,1,2,2,2,2,2,2,2,2,1,1,1,1"})"));
    expect_same(gpt(R"({"schedule": "zb-h1", "placement": "column", "scopes": {"replica": 2, "of":
                        {"auto_parallel": "pipeline", "num_stages": 4}}})"),
                gpt(R"({"schedule": "zb-h1", "placement": "column", "data": 2, "pipeline": 4})"));
}

TEST(Scopes, NumbersOfMicroBatchesDivideTheBatch) {
    const std::string pipeline = R"("of": {"auto_parallel": "pipeline", "num_stages": 4, "num_micro_batch": 12})";
    expect_same(gpt(scoped(R"({"replica": 8, )" + pipeline + "}")),
                gpt(R"({"data": 8, "pipeline": 4})", R"({"micro_batch_size": 2})"));
    expect_same(gpt(scoped(R"({"auto_parallel": "replica", )" + pipeline + "}")),
                gpt(R"({"pipeline": 4})", R"({"micro_batch_size": 1})"));
    expect_error([&] { (void)plan(gpt(scoped(R"({"replica": 5, )" + pipeline + "}"))); },
                 "/strategy/scopes/of/num_micro_batch", "12 micro-batches of each of 5 replicas", "180, 240");
    expect_error([&] { (void)plan(gpt(scoped(R"({"replica": 8, )" + pipeline + "}"), R"({"micro_batch_size": 2})")); },
                 "/training/micro_batch_size", "/strategy/scopes/of/num_micro_batch", "leave it out");
}

/// Experts that are replicated where layers are split would be whole on every tensor rank, which no plan has.
TEST(Scopes, ExpertsAreNotSplitUnlessTheirScopeSaysSo) {
    expect_error(
        [] {
            (void)plan(mixtral(R"({"sequence_parallel": true, "scopes":
                          [{"replica": 4, "of": {"split": 8}}, {"replica": 32, "of": "experts"}]})"));
        },
        "/strategy/scopes", "no multiple of tensor 8");
}

TEST(Scopes, LongTreesAreRefused) {
    json list = json::array();
    for (int i = 0; i < 60000; ++i) list.push_back({{"stage", "1 layer"}});
    expect_error(
        [&] {
            (void)plan(gpt(json{{"scopes", {{"pipeline", list}}}}.dump()));
        },
        "/strategy/scopes", "too many");
    list.erase(list.begin() + 9000, list.end());
    expect_error(
        [&] {
            (void)plan(gpt(json{{"scopes", {{"pipeline", list}}}}.dump()));
        },
        "/strategy/scopes/pipeline", "9000 stages", "8192");
    expect_error([&] { (void)plan(gpt(scoped("{\"replica\": 2, \"of\": \"" + std::string(7'000'000, 'x') + "\"}"))); },
                 "/strategy/scopes", "too long");
}

/// Random legal plans, their scopes written in one of several ways.
json in_scopes(json document, std::mt19937_64& random) {
    json& strategy = document["strategy"];
    const std::uint32_t stages = strategy["pipeline"], layers = document["model"]["num_hidden_layers"];
    json inside = random() % 2 == 0 ? json{{"replica", strategy["data"]}, {"of", {{"split", strategy["tensor"]}}}}
                                    : json{{"split", strategy["tensor"]}};
    const bool outside = !inside.contains("replica");
    json scopes;
    if (random() % 2 == 0) {
        scopes = {{"auto_parallel", "pipeline"}, {"num_stages", stages}, {"of", inside}};
    } else {
        scopes = {{"pipeline", json::array()}};
        for (std::uint32_t i = 0; i < stages; ++i)
            scopes["pipeline"].push_back({{"stage", std::to_string(layers / stages) + " layers"}, {"of", inside}});
    }
    if (random() % 2 == 0) {
        const std::uint32_t batch = document["training"]["global_batch_size"], data = strategy["data"];
        scopes["num_micro_batch"] = batch / (document["training"]["micro_batch_size"].get<std::uint32_t>() * data);
        document["training"].erase("micro_batch_size");
    }
    if (outside) scopes = {{"replica", strategy["data"]}, {"of", scopes}};
    for (const char* key : {"tensor", "pipeline", "data"}) strategy.erase(key);
    strategy["scopes"] = scopes;
    return document;
}

TEST(Scopes, SayRandomPlansAsKeysDo) {
    std::mt19937_64 random(7);
    std::size_t written = 0;
    for (int i = 0; i < 300; ++i) {
        const json keys = random_scenario(random);
        const json& strategy = keys["strategy"];
        if (strategy.contains("expert") || strategy.contains("pipeline_layers") ||
            strategy.contains("num_layers_in_first_pipeline_stage") ||
            strategy.contains("account_for_embedding_in_pipeline_split") || !strategy.contains("pipeline"))
            continue;
        ++written;
        expect_same(in_scopes(keys, random), keys);
    }
    EXPECT_GE(written, 100U);
}

struct Refused {
    Make make;
    const char *scopes, *pointer, *mention, *hint;
};

void expect_refused(std::initializer_list<Refused> list) {
    for (const Refused& each : list)
        expect_error([&] { (void)plan(each.make(scoped(each.scopes))); },
                     std::string("/strategy/scopes") + each.pointer, each.mention, each.hint);
}

TEST(Scopes, WhatIsNoneIsRefused) {
    expect_refused({
        Refused{of_gpt, "7", "", "7 is no scope", "write an object"},
        Refused{of_gpt, "[]", "", "[] holds no scope", "such as"},
        Refused{of_gpt, "{}", "", "says no scope", "replica, split, pipeline, stage, auto_parallel"},
        Refused{of_gpt, R"({"of": "layers"})", "", "says no scope", "replica"},
        Refused{of_gpt, R"(["layers"])", "/0", "\"layers\" is no scope", "write an object"},
        Refused{of_gpt, R"({"replica": 2, "split": 4})", "/split", "replica and split are two scopes", "of"},
        Refused{of_gpt, R"({"replica": 2, "num_stages": 4})", "/num_stages", "says nothing of replica", "leave"},
        Refused{of_gpt, R"({"replica": 0})", "/replica", "0 is out of range", "1 to"},
        Refused{of_gpt, R"({"replica": 1.5})", "/replica", "1.5 is not a whole number", "whole"},
        Refused{of_gpt, R"({"replica": 1048576, "of": {"replica": 2}})", "/replica", "2097152 replicas", "at most"},
        Refused{of_gpt, R"({"replicas": 2})", "/replicas", "unknown key", "replica"},
        Refused{of_gpt, R"({"replicate": 2})", "/replicate", "EPL counts", "replica"},
        Refused{of_gpt, R"({"replica": 2, "devices": "0-7"})", "/devices", "which GPU", "placement"},
        Refused{of_gpt, R"({"auto_parallel": "split"})", "/auto_parallel", "not found here", "orrery search"},
    });
}

TEST(Scopes, PartsThatAModelLacksAreRefused) {
    expect_refused({
        Refused{of_gpt, R"({"split": 8, "of": "experts"})", "/of", "no part of gpt3-1.3b", "its parts: layers"},
        Refused{of_gpt, R"({"split": 8, "of": ""})", "/of", "no part", "layers"},
        Refused{images, R"({"split": 8})", "/split", "takes images", "classifier"},
        Refused{images, R"({"replica": 8, "of": "layers"})", "/of", "no part", "backbone, classifier"},
        Refused{images, R"({"replica": 8, "of": "backbone"})", "", "what is not the backbone", "classifier"},
        Refused{mixtral, R"({"split": 8, "of": "experts"})", "", "what is not the experts", "beside it"},
    });
}

TEST(Scopes, InsideEachOtherThatAreNoPlanAreRefused) {
    expect_refused({
        Refused{of_gpt, R"({"split": 4, "of": {"replica": 2}})", "/of", "replicas inside a split", "placement"},
        Refused{of_gpt, R"({"split": 4, "of": {"split": 2}})", "/of", "a split inside a split", "product"},
        Refused{of_gpt, R"({"split": 4, "of": {"pipeline": [{"stage": "0-23"}]}})", "/of", "inside a split",
                "each stage"},
        Refused{mixtral, R"({"split": 2, "of": {"split": 2, "of": {"split": 2, "of": "experts"}}})", "/of",
                "three times", "twice"},
        Refused{of_gpt, R"({"stage": "0-23"})", "/stage", "outside a pipeline", "pipeline"},
        Refused{of_gpt, R"({"replica": 2, "of": {"auto_parallel": "replica"}})", "/replica", "auto_parallel",
                "keep one"},
        Refused{of_gpt, R"({"auto_parallel": "replica", "of": {"replica": 2}})", "/of", "replicas inside", "keep"},
    });
}

TEST(Scopes, PipelinesThatAreNoneAreRefused) {
    expect_refused({
        Refused{of_gpt, R"({"pipeline": 3})", "/pipeline", "3 is no list of stages", "stage"},
        Refused{of_gpt, R"({"pipeline": []})", "/pipeline", "[] holds no stage", "stage"},
        Refused{of_gpt, R"({"pipeline": [{"replica": 2}]})", "/pipeline/0", "is no stage", "around it"},
        Refused{of_gpt, R"({"pipeline": [{"stage": 8}]})", "/pipeline/0/stage", "8 is not text", "text"},
        Refused{of_gpt, R"({"pipeline": [{"stage": "8"}]})", "/pipeline/0/stage", "names no layers", "0-7"},
        Refused{of_gpt, R"({"pipeline": [{"stage": "1-23"}]})", "/pipeline/0/stage", "layer 0 is in no stage", "0"},
        Refused{of_gpt, R"({"pipeline": [{"stage": "0-11"}, {"stage": "11-23"}]})", "/pipeline/1/stage",
                "layer 11 is in a stage before", "begin with layer 12"},
        Refused{of_gpt, R"({"pipeline": [{"stage": "0-24"}]})", "/pipeline/0/stage", "layers up to 24", "23"},
        Refused{of_gpt, R"({"pipeline": [{"stage": "0-11"}]})", "/pipeline", "12 layers, but", "12-23"},
        Refused{of_gpt, R"({"pipeline": [{"stage": "11-0"}]})", "/pipeline/0/stage", "falls", "lower"},
        Refused{of_gpt, R"({"pipeline": [{"stage": "0-11", "of": {"replica": 2}}, {"stage": "12-23"}]})", "/pipeline/1",
                "1 replica, but the first stage has 2 replicas", "orrery partition"},
        Refused{of_gpt,
                R"({"pipeline": [{"stage": "0-11", "of": {"split": 2}}, {"stage": "12-23", "of": {"split": 4}}]})",
                "/pipeline/1/of", "split 4 ways", "alike"},
        Refused{of_gpt, R"({"pipeline": [{"stage": "0-23", "of": {"auto_parallel": "pipeline", "num_stages": 2}}]})",
                "/pipeline/0/of", "a pipeline inside a stage", "outer"},
        Refused{of_gpt, R"({"pipeline": [{"stage": "0-23", "of": {"auto_parallel": "replica"}}]})", "/pipeline/0/of",
                "inside a pipeline", "around"},
        Refused{mixtral, R"({"pipeline": [{"stage": "0-31", "of": "experts"}]})", "/pipeline/0/of",
                "what is not the experts", "beside"},
        Refused{of_gpt, R"({"pipeline": [{"stage": "0-23"}], "of": "layers"})", "/of", "says nothing of pipeline",
                "leave"},
        Refused{of_gpt, R"({"auto_parallel": "pipeline"})", "/num_stages", "missing", "orrery search"},
        Refused{of_gpt, R"({"auto_parallel": "pipeline", "num_stages": 25})", "/num_stages", "25 chunks", "24"},
        Refused{of_gpt, R"({"auto_parallel": "pipeline", "num_stages": 2, "strategy": "1f1b"})", "/strategy", "unknown",
                "PreferBackward"},
    });
}

TEST(Scopes, BesideEachOtherStandOnTheSameGpus) {
    expect_refused({
        Refused{mixtral, R"([{"replica": 32}, {"split": 8, "of": "experts"}])", "/1",
                "8 GPUs, but the scope beside it stands on 32", R"({"replica": 4, "of": ...})"},
        Refused{mixtral, R"([{"replica": 9}, {"split": 8, "of": "experts"}])", "/1", "stands on 9", "as many"},
        Refused{mixtral, R"([{"replica": 8}, {"replica": 8}])", "/1", "a second scope of the same part", "rest"},
        Refused{mixtral, R"([{"replica": 8}, {"auto_parallel": "replica", "of": {"split": 8, "of": "experts"}}])", "/1",
                "of experts alone", "around"},
        Refused{mixtral, R"([{"replica": 8}, {"split": 4, "of": {"split": 2, "of": "experts"}}])", "/1/of/split",
                "2 ways to split each expert, but 1 for layers", "whole"},
        Refused{mixtral, R"([{"pipeline": [{"stage": "0-31"}]}, {"split": 8, "of": "experts"}])", "/0",
                "a pipeline beside another scope", "stages"},
        Refused{mixtral, R"([[{"replica": 8}, {"split": 8, "of": "experts"}], {"split": 8, "of": "experts"}])", "/1",
                "holds one of this part already", "keep one"},
    });
}

/// What is wrong with the plan that scopes come to is said of the scope.
TEST(Scopes, RulesOfPlansNameTheScope) {
    expect_refused({
        Refused{of_gpt, R"({"split": 3})", "", "3 ranks do not divide the 64 GPUs", R"({"replica": 21, "of": ...})"},
        Refused{of_gpt, R"({"replica": 2, "of": {"split": 3}})", "/of/split", "3 does not divide the", "legal"},
        Refused{of_gpt, R"({"replica": 128})", "/replica", "128 ranks", "64"},
        Refused{mixtral, R"([{"replica": 16}, {"split": 16, "of": "experts"}])", "/1/split", "8 experts", "8"},
        Refused{images, R"({"auto_parallel": "pipeline", "num_stages": 2})", "/num_stages", "pipeline", "1"},
        Refused{of_gpt,
                R"({"replica": 2, "of": {"pipeline":
                         [{"stage": "0-11"}, {"stage": "0 layers"}, {"stage": "12-23"}]}})",
                "/of/pipeline", "in the middle", "one"},
    });
    expect_error(
        [] {
            (void)plan(
                gpt(R"({"virtual_pipeline": 2, "scopes": {"pipeline": [{"stage": "0-7"}, {"stage": "8-23"}]}})"));
        },
        "/strategy/scopes/pipeline", "virtual_pipeline 2", "pipeline_layers");
}

TEST(Scopes, KeysThatSayTheSameStandNowhereElse) {
    for (const char* key : {"tensor", "tensor_model_parallel_size", "pipeline", "data", "expert", "split_classes"}) {
        json document = gpt(scoped(R"({"replica": 8})"));
        document["strategy"][key] = 1;
        expect_error([&] { (void)plan(document); }, std::string("/strategy/") + key, "/strategy/scopes",
                     "leave it out");
    }
    expect_error(
        [] {
            (void)plan(gpt(R"({"schedule": "1f1b", "scopes":
                           {"auto_parallel": "pipeline", "num_stages": 2, "strategy": "PreferBackward"}})"));
        },
        "/strategy/schedule", "/strategy/scopes/strategy", "leave it out");
}

std::uint32_t data_of(const std::vector<std::string>& changes) {
    const TemporaryFile file(gpt(scoped(R"({"replica": 8, "of": {"auto_parallel": "pipeline", "num_stages": 2,
                                            "num_micro_batch": 4}})"))
                                 .dump());
    std::vector<Override> overrides;
    for (const std::string& text : changes) overrides.push_back(parse_override(text));
    const strategies::Plan plan = load(file.path(), overrides).plan;
    return plan.strategy.data * 1000 + plan.strategy.pipeline * 100 + plan.training.micro_batch;
}

TEST(Scopes, ChangesHoldWhateverScopesSay) {
    EXPECT_EQ(data_of({}), 8206);
    EXPECT_EQ(data_of({"strategy.scopes.replica=4"}), 4212) << "four micro-batches all the same";
    EXPECT_EQ(data_of({"strategy.data=4"}), 4212);
    EXPECT_EQ(data_of({"strategy.data_parallel_size=4", "training.micro_batch_size=1"}), 4201);
    EXPECT_EQ(data_of({"strategy.data=null", "strategy.scopes.of.num_micro_batch=2"}), 32203) << "fills 64 GPUs";
    EXPECT_EQ(data_of({"strategy.pipeline=4"}), 8406);
    EXPECT_EQ(data_of({"strategy.scopes={\"replica\": 2}"}), 2101);
    EXPECT_EQ(data_of({"strategy.scopes=null"}), 64101);
    EXPECT_EQ(data_of({"strategy.data=4", "strategy={\"scopes\": {\"replica\": 2}}"}), 2101) << "the later one";
    EXPECT_EQ(data_of({"training.global_batch_size=96"}), 8203);
}

/// A file of keys becomes one of scopes.
TEST(Scopes, ChangesRemoveKeysThatStandInTheFile) {
    const TemporaryFile file(gpt(R"({"tensor": 8, "data": 8})", R"({"micro_batch_size": 8})").dump());
    std::vector<Override> overrides;
    for (const char* text : {"strategy.tensor=null", "strategy.data=null", "training.micro_batch_size=null"})
        overrides.push_back(parse_override(text));
    overrides.push_back(parse_override(R"(strategy.scopes={"replica": 4, "of": {"split": 2}})"));
    const strategies::Plan plan = load(file.path(), overrides).plan;
    EXPECT_EQ(plan.strategy.tensor, 2U);
    EXPECT_EQ(plan.strategy.data, 4U);
    EXPECT_EQ(plan.training.micro_batch, 1U);
}

TEST(Scopes, ChangesAreNamedWhereTheyAreWrong) {
    const TemporaryFile file(gpt(scoped(R"({"replica": 8, "of": {"split": 2}})")).dump());
    const auto at = [&](const std::string& change) {
        const auto error = error_of([&] { (void)load(file.path(), {parse_override(change)}); });
        return error ? error->file() + " " + error->pointer() : "";
    };
    EXPECT_EQ(at("strategy.tensor=3"), "--set strategy.tensor=3 /strategy/tensor");
    EXPECT_EQ(at("strategy.scopes.of.split=3"), "--set strategy.scopes.of.split=3 /strategy/scopes/of/split");
    EXPECT_EQ(at("strategy.tensor=2"), "");
}

TEST(StageLayers, AreEvenWithMoreInTheMiddle) {
    EXPECT_TRUE(even_layers(24, 4).empty());
    EXPECT_EQ(even_layers(7, 4), (std::vector<std::uint32_t>{2, 2, 2, 1}));
    EXPECT_EQ(even_layers(6, 4), (std::vector<std::uint32_t>{1, 2, 2, 1}));
    EXPECT_EQ(even_layers(5, 3), (std::vector<std::uint32_t>{2, 2, 1}));
}

}  // namespace
}  // namespace orrery::scenarios
