// A value knows where it stands, and refuses what is not as it should be.
#include "documents/value.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "documents/document.hpp"
#include "tests/scenarios/expect_error.hpp"

namespace orrery::documents {
namespace {

using nlohmann::json;
using scenarios::expect_error;

const json& document() {
    static const json text = parse_document(R"({"name": "a", "on": true, "count": 4, "half": 0.5, "fraction": 4.0,
        "below": -1, "huge": 4294967298, "none": null, "list": [1, 2, "3"], "inner": {"a/b": 1}})",
                                            "x.json");
    return text;
}

Value top() { return {document(), "x.json", "the remedy"}; }

TEST(Value, IsReadByType) {
    EXPECT_EQ(top().at("name").text(), "a");
    EXPECT_TRUE(top().at("on").boolean());
    EXPECT_EQ(top().at("count").count32(), 4U);
    EXPECT_EQ(top().at("huge").count(), 4'294'967'298U);
    EXPECT_EQ(top().at("half").number(), 0.5);
    EXPECT_EQ(top().at("count").number(), 4);
    EXPECT_TRUE(top().at("none").is_null());
    EXPECT_TRUE(top().has("none"));
    EXPECT_FALSE(top().has("nothing"));
    EXPECT_EQ(top().at("list").size(), 3U);
    EXPECT_EQ(top().at("inner").entries().front().second.pointer(), "/inner/a~1b");
    EXPECT_EQ(top().at("name").named([](const std::string& name) { return name.size(); }), 1U);
}

TEST(Value, WrongTypesAreRefusedWithTheirPlace) {
    expect_error([] { (void)top().at("count").text(); }, "/count", "4 is not text", "the remedy");
    expect_error([] { (void)top().at("count").boolean(); }, "/count", "4 is neither true nor false");
    expect_error([] { (void)top().at("name").number(); }, "/name", "\"a\" is not a number");
    expect_error([] { (void)top().at("list").numbers(); }, "/list/2", "\"3\" is not a number");
    expect_error([] { (void)top().at("list").counts(); }, "/list/2", "\"3\" is not a whole number");
    expect_error([] { (void)top().at("name").size(); }, "/name", "is no list");
    expect_error([] { (void)top().at("name").at("x"); }, "/name", "is no object");
    expect_error([] { (void)top().at("name").entries(); }, "/name", "is no object");
    expect_error([] { (void)top().at("none").number(); }, "/none", "null is not a number");
}

TEST(Value, WholeNumbersAreWholeAndInRange) {
    expect_error([] { (void)top().at("half").count(); }, "/half", "0.5 is not a whole number");
    expect_error([] { (void)top().at("fraction").count(); }, "/fraction", "4.0 is not a whole number");
    expect_error([] { (void)top().at("below").count(); }, "/below", "-1 is not a whole number");
    expect_error([] { (void)top().at("huge").count32(); }, "/huge", "4294967298 is out of range", "4294967295");
    expect_error([] { (void)top().at("below").number(0); }, "/below", "-1 is out of range");
}

TEST(Value, KeysAreKnownAndThere) {
    expect_error([] { (void)top().at("nothing"); }, "/nothing", "\"nothing\" is missing", "the remedy");
    expect_error([] { (void)top().at("inner").only({"a", "b"}); }, "/inner/a~1b", "unknown key \"a/b\"", "nearest");
    expect_error([] { (void)top().at("list").only({"a"}); }, "/list", "is no object");
    EXPECT_NO_THROW((void)top().at("inner").only({"a/b", "c"}));
}

TEST(Value, ColumnsAreAsLongAsTheirTable) {
    EXPECT_NO_THROW(top().at("list").expect_size(3));
    expect_error([] { top().at("list").expect_size(2); }, "/list", "has 3 values where the table has 2 rows");
}

TEST(Value, ErrorsOfNamesGetThePlace) {
    expect_error(
        [] { (void)top().at("name").named([](const std::string&) -> int { throw Error("no such", "but b"); }); },
        "/name", "no such", "but b");
}

}  // namespace
}  // namespace orrery::documents
