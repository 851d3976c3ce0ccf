// Typed values, ranges, units and spellings of one object.
#include "documents/reader.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <stdexcept>

#include "scenarios/keys.hpp"
#include "tests/scenarios/expect_error.hpp"

namespace orrery::scenarios {
namespace {

using documents::parse_count;
using documents::Reader;
using nlohmann::json;

Reader read(const char* text, Place place) { return Reader(json::parse(text), section(place), "x.json"); }

TEST(Reader, GivesStatedValuesAndFallbacks) {
    const Reader strategy =
        read(R"({"tensor": 8, "sequence_parallel": true, "bucket_size": "1.5 GiB"})", Place::strategy);
    EXPECT_EQ(strategy.integer32("tensor", 1), 8U);
    EXPECT_EQ(strategy.integer32("pipeline", 5), 5U);
    EXPECT_TRUE(strategy.boolean("sequence_parallel", false));
    EXPECT_TRUE(strategy.boolean("scatter_gather", true));
    EXPECT_EQ(strategy.bytes("bucket_size"), 1'610'612'736U);
    EXPECT_EQ(strategy.choice("schedule", "1f1b"), "1f1b");
}

TEST(Reader, ReadsRatesInBitsAndBytes) {
    const auto rate = [](const char* text) {
        return read((R"({"preset": "ethernet", "nic_rate": ")" + std::string(text) + "\"}").c_str(), Place::cluster)
            .bytes_per_second("nic_rate");
    };
    EXPECT_DOUBLE_EQ(rate("200 Gb/s"), 25e9);
    EXPECT_DOUBLE_EQ(rate("25 GB/s"), 25e9);
    EXPECT_DOUBLE_EQ(rate("25GB/s"), 25e9);
}

TEST(Reader, ReadsTokenCounts) {
    const auto tokens = [](const std::string& text) {
        return read((R"({"token_budget": )" + text + "}").c_str(), Place::outputs).tokens("token_budget");
    };
    EXPECT_DOUBLE_EQ(tokens("\"300B\""), 300e9);
    EXPECT_DOUBLE_EQ(tokens("\"1.5 T\""), 1.5e12);
    EXPECT_DOUBLE_EQ(tokens("\"2e9\""), 2e9);
    EXPECT_DOUBLE_EQ(tokens("300000000000"), 300e9);
    EXPECT_DOUBLE_EQ(tokens("3e11"), 300e9);
}

TEST(Reader, ABareNumberWhereAUnitIsNeededIsRefusedWithTheRemedy) {
    const auto code = [] { (void)read(R"({"bucket_size": 160})", Place::strategy).bytes("bucket_size"); };
    expect_error(code, "/strategy/bucket_size", "160 has no unit", "\"160 MB\"");
}

TEST(Reader, RangesIncludeTheirEnds) {
    const auto nodes = [](const std::string& value) {
        const json cluster{{"preset", "x"}, {"nodes", json::parse(value)}};
        return Reader(cluster, section(Place::cluster), "x.json").integer("nodes");
    };
    EXPECT_EQ(nodes("1"), 1U);
    EXPECT_EQ(nodes("131072"), 131072U);
    expect_error([&] { (void)nodes("0"); }, "/cluster/nodes", "0", "from 1 to 131072");
    expect_error([&] { (void)nodes("131073"); }, "/cluster/nodes", "131073");
    expect_error([&] { (void)nodes("2.0"); }, "/cluster/nodes", "2.0 is not a whole number");
}

TEST(Reader, PlainAliasesReadAsTheKey) {
    const Reader strategy = read(R"({"tensor_model_parallel_size": 4})", Place::strategy);
    EXPECT_EQ(strategy.integer32("tensor", 1), 4U);
    EXPECT_EQ(strategy.pointer("tensor"), "/strategy/tensor_model_parallel_size");
    EXPECT_EQ(strategy.pointer("pipeline"), "/strategy/pipeline");
}

TEST(Reader, SwitchesStandForValues) {
    const auto sharding = [](const char* text) { return read(text, Place::strategy).choice("sharding", "?"); };
    EXPECT_EQ(sharding(R"({"use_distributed_optimizer": true})"), "zero1");
    EXPECT_EQ(sharding(R"({"use_distributed_optimizer": false})"), "none");
    const Reader training =
        read(R"({"seq_length": 8, "global_batch_size": 1, "fp16": false, "bf16": true})", Place::training);
    EXPECT_EQ(training.choice("precision", "?"), "bf16");
    const Reader model = read(R"({"untie_embeddings_and_output_weights": true})", Place::model);
    EXPECT_FALSE(model.boolean("tie_word_embeddings", true));
}

TEST(Reader, TwoSpellingsOfOneKeyAreRefused) {
    const auto code = [] { (void)read(R"({"tensor": 4, "tensor_model_parallel_size": 4})", Place::strategy); };
    expect_error(code, "/strategy/tensor_model_parallel_size", "two spellings", "\"tensor\"");
}

TEST(Reader, UnknownKeysNameTheNearestAndTheRightPlace) {
    expect_error([] { (void)read(R"({"tensr": 1})", Place::strategy); }, "/strategy/tensr", "tensr", "\"tensor\"");
    expect_error([] { (void)read(R"({"precision": "fp16"})", Place::strategy); }, "/strategy/precision", "precision",
                 "belongs to \"training\"");
}

TEST(Reader, WhatIsNotModelledIsNamedWithWhatThereIs) {
    struct Case {
        const char *text, *pointer, *message, *instead;
    };
    for (const Case& c :
         {Case{R"({"ulysses_size": 2})", "/strategy/ulysses_size", "exchange heads has another name", "cp_comm_type"},
          {R"({"sharding": "hsdp"})", "/strategy/sharding", "HSDP has another name",
           "num_distributed_optimizer_instances"},
          {R"({"sharding": "FSDP"})", "/strategy/sharding", "FSDP has another name", "zero3"},
          {R"({"horovod_cycle_time": 5})", "/strategy/horovod_cycle_time", "depends on times", "bucket_size"},
          {R"({"num_communicators": 4})", "/strategy/num_communicators", "share the links", "bucket_size"},
          {R"({"zero-stage": 3})", "/strategy/zero-stage", "ZeRO's stage has another name", "zero1"},
          {R"({"schedule": "zero-bubble"})", "/strategy/schedule", "zero-bubble", "zb-h2"}})
        expect_error(
            [&] {
                const Reader strategy = read(c.text, Place::strategy);
                (void)strategy.choice("sharding", "none");
                (void)strategy.choice("schedule", "1f1b");
            },
            c.pointer, c.message, c.instead);
}

TEST(Reader, MissingRequiredKeysAreRefused) {
    expect_error([] { (void)read(R"({"seq_length": 8})", Place::training); }, "/training/global_batch_size",
                 "global_batch_size");
}

TEST(Reader, AskingForWhatTheTableLacksIsAMistakeOfTheProgram) {
    const Reader strategy = read("{}", Place::strategy);
    EXPECT_THROW((void)strategy.integer("tensr"), std::logic_error);
    EXPECT_THROW((void)strategy.boolean("tensor", false), std::logic_error);
}

TEST(ParseCount, RefusesWhatIsNoCount) {
    for (const char* text : {"", "B", "-1B", "0", "1 X", "nan", "inf", "1e999", "300B tokens and more", "0x10"}) {
        EXPECT_THROW((void)parse_count(text), Error) << text;
    }
}

}  // namespace
}  // namespace orrery::scenarios
