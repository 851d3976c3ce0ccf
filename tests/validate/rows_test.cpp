#include "validate/rows.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "tests/validate/sample.hpp"

namespace orrery::validate {

namespace {

struct Broken {
    const char* text;
    const char* pointer;
};

// What a file may hold instead of rows.
const Broken broken[] = {
    {"", ""},
    {"not json", ""},
    {"{", ""},
    {R"({"rows": [)", ""},
    {R"({"rows": [{}]} trailing)", ""},
    {R"({"rows": [{"gpus": 1e999}]})", ""},
    {R"({"rows": [{"gpus": NaN}]})", ""},
    {"\xff\xfe{\0}", ""},
    {"{\"rows\": [{\"id\": \"\xff\"}]}", ""},
    {"[]", ""},
    {"3", ""},
    {"null", ""},
    {"\"rows\"", ""},
    {"{}", "/rows"},
    {R"({"row": []})", "/row"},
    {R"({"rows": [{"gpus": 8, "gpus": 16}]})", "/rows/0/gpus"},
    {R"({"rows": [{}], "rows": [{}]})", "/rows"},
    {R"({"rows": null})", "/rows"},
    {R"({"rows": {}})", "/rows"},
    {R"({"rows": "none"})", "/rows"},
    {R"({"rows": []})", "/rows"},
    {R"({"rows": [{}, 3]})", "/rows/1"},
    {R"({"rows": [null]})", "/rows/0"},
    {R"({"rows": [[{}]]})", "/rows/0"},
    {R"({"rows": [{}], "defaults": 3})", "/defaults"},
};

}  // namespace

TEST(Rows, BrokenFilesNameFileAndPointer) {
    for (const Broken& sample : broken) {
        SCOPED_TRACE(sample.text);
        try {
            parse_rows(sample.text, "lab.json");
            FAIL() << "accepted";
        } catch (const Error& error) {
            EXPECT_EQ(error.file(), "lab.json");
            EXPECT_EQ(error.pointer(), sample.pointer);
            EXPECT_FALSE(error.message().empty());
        }
    }
}

TEST(Rows, MissingFilesAndFoldersAreErrors) {
    EXPECT_THROW(load_rows("no/such/file.json"), Error);
    EXPECT_THROW(load_rows("validate"), Error);
}

TEST(Rows, SourceIsNamedByTheFileOtherwise) {
    EXPECT_EQ(parse_rows(R"({"source": "lab", "rows": [{}]})", "x/y.json").source, "lab");
    EXPECT_EQ(parse_rows(R"({"rows": [{}]})", "x/y.json").source, "y");
    EXPECT_EQ(parse_rows(R"({"source": {"a": 1}, "rows": [{}]})", "x/y.json").source, "y");
}

TEST(Rows, DefaultsFillWhatARowDoesNotSay) {
    const RowFile file = parse_rows(
        R"({"defaults": {"gpu": "A100", "model": {"layers": 4, "seq": 512}},
            "rows": [{"model": {"layers": 8}}, {"gpu": "H100"}, {"gpu": null}]})",
        "y.json");
    EXPECT_EQ(file.rows[0].count("model.layers"), 8U);
    EXPECT_EQ(file.rows[0].count("model.seq"), 512U);
    EXPECT_EQ(file.rows[1].text("gpu"), "H100");
    EXPECT_EQ(file.rows[1].count("model.layers"), 4U);
    EXPECT_FALSE(file.rows[2].has("gpu"));
}

TEST(Rows, FieldsThatNothingReadsAreNamed) {
    const RowFile file = parse_rows(
        R"({"rows": [{"recomputation": "full", "mbz": 1, "tp": 2, "model": {"layers": 8, "kvheads": 2}},
                     {"mbz": 2, "what_we_had_for_lunch": "rice", "switches": {"anything": 1}}]})",
        "y.json");
    const std::vector<std::string> expected{"mbz (mbs?)", "recomputation (recompute?)", "model.kvheads (kv_heads?)",
                                            "what_we_had_for_lunch"};
    EXPECT_EQ(unread_fields(file), expected);
}

}  // namespace orrery::validate
