#include "validate/row.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/validate/sample.hpp"

namespace orrery::validate {

using nlohmann::json;
using test::reason_of;
using test::row_of;

TEST(Row, ReadsNestedFields) {
    const Row row = test::row_with({});
    EXPECT_EQ(row.id(), "sample/1");
    EXPECT_EQ(row.count("model.layers"), 4U);
    EXPECT_EQ(row.number("measured.step_time_s"), 4.0);
    EXPECT_EQ(row.text("gpu"), "A100-SXM4-80GB");
    EXPECT_EQ(row.flag("sp"), false);
    EXPECT_EQ(row.words("gpu"), "a100-sxm4-80gb");
}

TEST(Row, AbsentAndNullAreNotPublished) {
    const Row row = row_of({{"mbs", nullptr}, {"model", {{"layers", nullptr}}}});
    EXPECT_FALSE(row.has("mbs"));
    EXPECT_FALSE(row.count("model.layers"));
    EXPECT_FALSE(row.count("model.hidden"));
    EXPECT_FALSE(row.text("gpu"));
    EXPECT_EQ(row.words("gpu"), "");
}

TEST(Row, WrongTypesAreNamedByField) {
    const Row row =
        row_of({{"gpus", "sixteen"}, {"gpu", 7}, {"model", {{"layers", json::array()}}}, {"tp", {{"a", 1}}}});
    EXPECT_EQ(reason_of([&] { static_cast<void>(row.count("gpus")); }), "field of a wrong type: gpus");
    EXPECT_EQ(reason_of([&] { static_cast<void>(row.text("gpu")); }), "field of a wrong type: gpu");
    EXPECT_EQ(reason_of([&] { static_cast<void>(row.count("model.layers")); }), "field of a wrong type: model.layers");
    EXPECT_EQ(reason_of([&] { static_cast<void>(row.flag("tp")); }), "field of a wrong type: tp");
    EXPECT_EQ(reason_of([&] { static_cast<void>(row.find("gpu.name")); }), "field of a wrong type: gpu");
}

TEST(Row, CountsAreWholePositiveAndBounded) {
    const Row row = row_of({{"a", 13.0}, {"b", 14.997}, {"c", 0}, {"d", -2}, {"e", 1e300}});
    EXPECT_EQ(row.count("a"), 13U);
    for (const char* field : {"b", "c", "d", "e"})
        EXPECT_EQ(reason_of([&] { static_cast<void>(row.count(field)); }), std::string("field out of range: ") + field);
}

TEST(Row, FlagsReadYesAndNo) {
    const Row row = row_of({{"a", "Y"}, {"b", "N"}, {"c", true}, {"d", 0}, {"e", "perhaps"}});
    EXPECT_EQ(row.flag("a"), true);
    EXPECT_EQ(row.flag("b"), false);
    EXPECT_EQ(row.flag("c"), true);
    EXPECT_EQ(row.flag("d"), false);
    EXPECT_EQ(reason_of([&] { static_cast<void>(row.flag("e")); }), "field of a wrong type: e");
}

TEST(Row, FlatFormBecomesNested) {
    const Row row = row_of({{"id", "dense"},
                            {"model", "GPT 6.7B dense"},
                            {"layers", 32},
                            {"hidden", 4096},
                            {"global_batch", 1024},
                            {"measured", 70},
                            {"unit", "samples/s"},
                            {"inter_node", "50 Gb/s"}});
    EXPECT_EQ(row.kind(), "training_step");
    EXPECT_EQ(row.text("model.name"), "GPT 6.7B dense");
    EXPECT_EQ(row.count("model.layers"), 32U);
    EXPECT_EQ(row.count("gbs"), 1024U);
    EXPECT_EQ(row.number("measured.value"), 70);
    EXPECT_EQ(row.text("measured.unit"), "samples/s");
    EXPECT_EQ(row.text("network"), "50 Gb/s");
}

TEST(Row, NamesRowsWithoutAnId) {
    EXPECT_EQ(Row("lab", 3, json::object()).id(), "lab#3");
    EXPECT_EQ(Row("lab", 4, {{"id", 17}}).id(), "lab#4");
    EXPECT_EQ(Row("lab", 5, {{"kind", 1}}).kind(), "unknown");
}

TEST(Row, WordsBeginAtLetterBoundaries) {
    EXPECT_TRUE(begins_word("bert-large", "bert"));
    EXPECT_TRUE(begins_word("megatron-bert", "bert"));
    EXPECT_FALSE(begins_word("roberta", "bert"));
    EXPECT_FALSE(begins_word("gpt-7.5b", "t5"));
    EXPECT_TRUE(begins_word("t5:t5_release", "t5"));
}

}  // namespace orrery::validate
