// Reading of files and strict JSON.
#include "documents/document.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "documents/message.hpp"
#include "tests/scenarios/expect_error.hpp"
#include "tests/scenarios/temporary_file.hpp"

namespace orrery::documents {
namespace {

using scenarios::expect_error;
using scenarios::TemporaryFile;

TEST(Document, ParsesWhatJsonAllows) {
    const auto document =
        parse_document("\xEF\xBB\xBF {\"a\": [1, {\"b\": null}], \"\xC3\xBC\": \"\\u0041\"}\n", "x.json");
    EXPECT_EQ(document["a"][0], 1);
    EXPECT_EQ(document["\xC3\xBC"], "A");
}

TEST(Document, TheSameKeyInDifferentObjectsIsFine) {
    EXPECT_EQ(parse_document(R"([{"a": 1}, {"a": 2}, {"b": {"a": 3}}])", "x").size(), 3U);
}

TEST(Document, RepeatedKeysAreRefusedWithTheirPointer) {
    expect_error([] { (void)parse_document(R"({"a": [1, {"b": 1, "b/c": 2, "b/c": 3}]})", "x"); }, "/a/1/b~1c", "b/c");
    expect_error([] { (void)parse_document(R"([[], {"a": {}}, {"k": 1, "k": 1}])", "x"); }, "/2/k", "\"k\"");
}

TEST(Document, SyntaxErrorsTellTheLine) {
    expect_error([] { (void)parse_document("{\n  \"a\": 1,\n  b\n}", "x"); }, "", "line 3");
}

TEST(Document, CommentsAreReadWhereTheyMayStand) {
    const char* const text = "// first\n{\"a\": 1, // of a\n /* \"b\": 2, */ \"c\": \"// no comment\"}";
    const auto document = parse_document(text, "x", commented);
    EXPECT_EQ(document.size(), 2U);
    EXPECT_EQ(document["c"], "// no comment");
    expect_error([&] { (void)parse_document(text, "x"); }, "", "line 1");
    expect_error([] { (void)parse_document("{ /* no end", "x", commented); }, "", "comment");
    expect_error([] { (void)parse_document("// nothing else", "x", commented); }, "", "not valid JSON");
}

TEST(Document, DepthIsBounded) {
    const auto nested = [](std::size_t depth) { return std::string(depth, '[') + std::string(depth, ']'); };
    EXPECT_NO_THROW((void)parse_document(nested(static_cast<int>(max_depth)), "x"));
    expect_error([&] { (void)parse_document(nested(static_cast<int>(max_depth) + 1), "x"); }, "", "64");
}

TEST(Document, FoldersMissingAndUnreadableFilesAreRefused) {
    expect_error([] { (void)read_document("/tmp"); }, "", "is a folder", "name a file inside it");
    expect_error([] { (void)read_document("/no/such/file.json"); }, "", "No such file");
    expect_error([] { (void)read_document(""); }, "", "cannot be read");
    const TemporaryFile file("{}");
    std::filesystem::permissions(file.path(), std::filesystem::perms::none);
    if (::geteuid() != 0) expect_error([&] { (void)read_document(file.path()); }, "", "Permission denied");
}

TEST(Document, EndlessAndLargeFilesAreRefused) {
    for (const char* device : {"/dev/zero", "/dev/null"})
        expect_error([&] { (void)read_document(device); }, "", "is a device");
    const TemporaryFile file("{}");
    std::filesystem::resize_file(file.path(), 0);
    expect_error([&] { (void)read_document(file.path()); }, "", "empty");
    std::filesystem::resize_file(file.path(), 100'000'000);
    expect_error([&] { (void)read_document(file.path()); }, "", "16.0 MiB");
}

TEST(Document, ShownValuesAreShortAndPrintable) {
    EXPECT_EQ(shown(nlohmann::json(3)), "3");
    EXPECT_EQ(shown(nlohmann::json("a")), "\"a\"");
    EXPECT_EQ(shown(nlohmann::json::array({1, 2})), "a list of 2");
    EXPECT_EQ(shown(nlohmann::json{{"k", 1}}), "an object with \"k\"");
    EXPECT_LT(shown(nlohmann::json(std::string(100000, 'x'))).size(), 80U);
    EXPECT_EQ(printable(std::string_view("a\0\x1B\xFF\xC3\xBC", 6)), "a\\x00\\x1B\\xFF\xC3\xBC");
}

TEST(Document, PointersAreEscaped) { EXPECT_EQ(child_pointer("/a", "b/c~d"), "/a/b~1c~0d"); }

}  // namespace
}  // namespace orrery::documents
