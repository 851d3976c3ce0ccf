// `--set path=value`.
#include "scenarios/override.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/scenarios/bad_scenarios.hpp"
#include "tests/scenarios/expect_error.hpp"
#include "tests/scenarios/temporary_file.hpp"

namespace orrery::scenarios {
namespace {

using nlohmann::json;

json with(json document, const std::string& text) {
    apply_override(document, parse_override(text));
    return document;
}

TEST(Override, SplitsAtTheFirstEquals) {
    const Override change = parse_override("name=a=b");
    EXPECT_EQ(change.path, "name");
    EXPECT_EQ(change.value, "a=b");
    for (const char* text : {"", "tensor", "=4", ".a=1", "a.=1", "a..b=1"}) {
        EXPECT_THROW((void)parse_override(text), Error) << text;
    }
    EXPECT_THROW((void)parse_override("name=a\xFF"), Error) << "no UTF-8, which a file is refused for";
}

TEST(Override, ValuesAreJsonWhenTheyParse) {
    EXPECT_EQ(with({}, "seed=4")["seed"], 4);
    EXPECT_EQ(with({}, "strategy.overlap_p2p=true")["strategy"]["overlap_p2p"], true);
    EXPECT_EQ(with({}, "model={\"name\": \"gpt2\"}")["model"]["name"], "gpt2");
    EXPECT_EQ(with({}, "cluster.nic_rate=200 Gb/s")["cluster"]["nic_rate"], "200 Gb/s");
    EXPECT_EQ(with({}, "name=\"7\"")["name"], "7");
    EXPECT_EQ(with({}, "name=")["name"], "");
}

TEST(Override, WhatOnlyBeginsLikeJsonIsASlip) {
    expect_error([] { (void)with({}, "model={\"name\": gpt2}"); }, "", "not valid JSON");
}

TEST(Override, ListsTakeTheIndexOfAnElement) {
    const json list{{"a", {1, 2, {{"b", 3}}}}};
    EXPECT_EQ(with(list, "a.1=9")["a"], json::parse(R"([1, 9, {"b": 3}])"));
    EXPECT_EQ(with(list, "a.2.b=9")["a"][2]["b"], 9);
    for (const char* text : {"a.3=1", "a.-1=1", "a.x=1", "a.1x=1", "a.99999999999999999999=1"}) {
        EXPECT_THROW((void)with(list, text), Error) << text;
    }
}

TEST(Override, APathThroughAScalarNamesTheOverride) {
    const auto error = error_of([] { (void)with(sound_scenario(), "strategy.tensor.size=4"); });
    ASSERT_TRUE(error);
    EXPECT_EQ(error->file(), "--set strategy.tensor.size=4");
    EXPECT_EQ(error->pointer(), "/strategy/tensor/size");
}

TEST(Override, ReplacesOtherSpellingsOfTheKey) {
    const json strategy = with(sound_scenario(), "strategy.tensor_model_parallel_size=2")["strategy"];
    EXPECT_FALSE(strategy.contains("tensor"));
    EXPECT_EQ(strategy["tensor_model_parallel_size"], 2);
}

TEST(Override, NullRemovesTheKey) {
    EXPECT_FALSE(with(sound_scenario(), "strategy.data=null")["strategy"].contains("data"));
    EXPECT_EQ(with(sound_scenario(), "strategy.bucket_size=null"), sound_scenario());
}

TEST(Override, TheTitleNamesAChangedModelOrCluster) {
    const TemporaryFile file(sound_scenario().dump());
    const std::string name = load(file.path()).name;
    const auto title = [&](const std::vector<std::string>& texts) {
        std::vector<Override> changes;
        for (const std::string& text : texts) changes.push_back(parse_override(text));
        return load(file.path(), changes).name;
    };
    EXPECT_EQ(title({"training.precision=bf16"}), name) << "the title says nothing of it";
    EXPECT_EQ(title({"model.vocab_size=32000", "training.precision=bf16"}), name + ", with model.vocab_size=32000");
    EXPECT_EQ(title({"model.vocab_size=32000", "name=mine"}), "mine");
    const std::vector<std::string> many(6, "model.vocab_size=32000");
    EXPECT_TRUE(title(many).ends_with("model.vocab_size=32000 and 2 more")) << title(many);
}

TEST(Override, LoadAppliesThemInOrderAndChecksTheResult) {
    const TemporaryFile file(sound_scenario().dump());
    const auto loaded = [&](const std::vector<std::string>& texts) {
        std::vector<Override> changes;
        for (const std::string& text : texts) changes.push_back(parse_override(text));
        return load(file.path(), changes);
    };
    EXPECT_EQ(loaded({"strategy.tensor=8", "strategy.tensor=2", "strategy.data=null"}).plan.strategy.data, 8U);
    const auto error = error_of([&] { (void)loaded({"strategy.tensor=3", "strategy.data=1"}); });
    ASSERT_TRUE(error);
    EXPECT_EQ(error->file(), "--set strategy.tensor=3");
    EXPECT_EQ(error->pointer(), "/strategy/tensor");
    const auto unknown = error_of([&] { (void)loaded({"strategy.tensr=3"}); });
    ASSERT_TRUE(unknown);
    EXPECT_EQ(unknown->file(), "--set strategy.tensr=3");
}

/// However deep a path goes on below a key that nobody knows.
TEST(Override, IsBlamedForAnUnknownKeyAboveIt) {
    const auto error = error_of([] { (void)load("scenarios/gpt-1.7b-dgx-a100.json", {{"a.b.c", "3"}}); });
    ASSERT_TRUE(error);
    EXPECT_EQ(error->file(), "--set a.b.c=3");
    EXPECT_EQ(error->pointer(), "/a");
}

}  // namespace
}  // namespace orrery::scenarios
