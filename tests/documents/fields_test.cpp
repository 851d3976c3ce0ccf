// A struct described by a table of its fields: read, written, checked, counted.
#include <gtest/gtest.h>

#include <array>
#include <limits>

#include "documents/write_fields.hpp"
#include "tests/scenarios/expect_error.hpp"

namespace orrery::documents {
namespace {

using nlohmann::json;
using scenarios::expect_error;

enum class Colour : std::uint8_t { red, blue };
struct Inner {
    double share = 0.5;
};
struct Thing {
    std::string label;
    std::uint32_t count = 1;
    std::uint32_t derived = 0;
    std::uint64_t bytes = 4'000'000;
    Colour colour = Colour::blue;
    Inner inner;
    bool on = true;
    std::array<std::uint32_t, 3> sizes{};
};
static_assert(members_of<Thing> == 8 && members_of<Inner> == 1);

constexpr std::array colours{word("red", Colour::red), word("blue", Colour::blue), word("azure", Colour::blue)};
constexpr std::array thing_fields{
    field<&Thing::label>({.name = "label"}),
    field<&Thing::count>({.name = "count", .min = 1, .max = 100, .others = {megatron("num_count")}}),
    field<&Thing::derived>({.name = "derived", .min = 1, .max = 100}),
    bytes_field<&Thing::bytes>({.name = "bytes", .min = 1, .max = 1e9}),
    field<&Thing::colour>({.name = "colour", .words = colours}),
    field<&Thing::inner, &Inner::share>({.name = "share", .min = 0, .max = 1}),
    field<&Thing::on>({.name = "on", .others = {megatron("off", "false", "true")}}),
    field<&Thing::sizes>({.name = "sizes", .min = 1, .max = 9}),
};
std::span<const Field<Thing>> fields() { return thing_fields; }

Thing read(const std::string& text) {
    static const Section section{.name = "thing", .pointer = "/thing", .keys = keys_of(fields())};
    Thing thing;
    read_fields(Reader(json::parse(text), section, "x.json"), fields(), thing);
    return thing;
}

TEST(Fields, KindsFollowFromMembers) {
    const std::vector<Kind> kinds{Kind::text,   Kind::integer, Kind::integer, Kind::bytes,
                                  Kind::choice, Kind::number,  Kind::boolean, Kind::integers};
    ASSERT_EQ(kinds.size(), thing_fields.size());
    for (std::size_t i = 0; i < kinds.size(); ++i) EXPECT_EQ(thing_fields[i].key.kind, kinds[i]) << i;
}

TEST(Fields, WhatIsStatedIsRead) {
    const Thing thing = read(R"({"label": "a", "num_count": 7, "bytes": "2 MB", "colour": "red", "share": 0.25,
                                 "off": true, "sizes": [3, 1, 2]})");
    EXPECT_EQ(thing.sizes, (std::array<std::uint32_t, 3>{3, 1, 2}));
    EXPECT_EQ(thing.label, "a");
    EXPECT_EQ(thing.count, 7U);
    EXPECT_EQ(thing.derived, 0U);
    EXPECT_EQ(thing.bytes, 2'000'000U);
    EXPECT_EQ(thing.colour, Colour::red);
    EXPECT_EQ(thing.inner.share, 0.25);
    EXPECT_FALSE(thing.on);
    EXPECT_EQ(read(R"({"colour": "azure"})").colour, Colour::blue);
}

TEST(Fields, WhatNoKeyCanSayIsLeftOut) {
    EXPECT_EQ(write_fields(fields(), Thing{}).dump(),
              R"({"count":1,"bytes":"4000000 B","colour":"blue","share":0.5,"on":true})");
}

TEST(Fields, WhatNoKeyCanSayAndIsNoDefaultIsNotWritten) {
    Thing thing;
    thing.derived = 1000;
    expect_error([&] { (void)write_fields(fields(), thing); }, "/derived", "1000 is out of range");
}

TEST(Fields, AreReadAsTheyWereWritten) {
    const Thing thing{"b", 100, 3, 999, Colour::red, {0.1 + 0.2}, false, {9, 1, 5}};
    const Thing again = read(write_fields(fields(), thing).dump());
    for (const Field<Thing>& field : fields()) EXPECT_EQ(field.get(again), field.get(thing)) << field.key.name;
}

TEST(Fields, AStructIsHeldToTheRanges) {
    EXPECT_NO_THROW(check_fields(fields(), Thing{}, "/thing"));  // `derived` is its default
    const auto refused = [](auto change, const char* pointer, const char* mention) {
        Thing thing;
        change(thing);
        expect_error([&] { check_fields(fields(), thing, "/thing"); }, pointer, mention);
    };
    refused([](Thing& t) { t.count = 0; }, "/thing/count", "0 is out of range");
    refused([](Thing& t) { t.derived = 101; }, "/thing/derived", "101");
    refused([](Thing& t) { t.inner.share = std::numeric_limits<double>::quiet_NaN(); }, "/thing/share", "nan");
    refused([](Thing& t) { t.colour = static_cast<Colour>(2); }, "/thing/colour", "2");
}

TEST(Fields, WrongValuesAreRefusedWithTheirPlace) {
    expect_error([] { (void)read(R"({"count": 1.5})"); }, "/thing/count", "1.5 is not a whole number", "1 to 100");
    expect_error([] { (void)read(R"({"num_count": 4294967298})"); }, "/thing/num_count", "4294967298", "1 to 100");
    expect_error([] { (void)read(R"({"colour": 1})"); }, "/thing/colour", "1 is unknown", "red, blue, azure");
    expect_error([] { (void)read(R"({"colour": "green"})"); }, "/thing/colour", "green", "red, blue");
    expect_error([] { (void)read(R"({"bytes": 5})"); }, "/thing/bytes", "no unit");
    expect_error([] { (void)read(R"({"sizes": "3,1,2"})"); }, "/thing/sizes", "no list", "list of 3 whole numbers");
    expect_error([] { (void)read(R"({"sizes": [3, 1]})"); }, "/thing/sizes", "2 entries", "list of 3 whole numbers");
    expect_error([] { (void)read(R"({"sizes": [3, 1, 10]})"); }, "/thing/sizes/2", "10", "from 1 to 9");
    expect_error([] { (void)read(R"({"sizes": [3, 1.5, 1]})"); }, "/thing/sizes/1", "1.5", "from 1 to 9");
    expect_error([] { (void)read(R"({"conut": 5})"); }, "/thing/conut", "unknown key", "\"count\"");
}

}  // namespace
}  // namespace orrery::documents
