// orrery sweep --shard and orrery merge: parts made by processes of their own end with the bytes of the whole.
#include <gtest/gtest.h>

#include "tests/cli/process.hpp"

namespace orrery::cli {
namespace {

const std::vector<std::string> question{
    "sweep", "scenarios/gpt-1.7b-dgx-a100.json", "--vary", "gpus=8..64x2", "--vary", "strategy.tensor=1,2,3"};

std::vector<std::string> with(std::vector<std::string> words, const std::vector<std::string>& more) {
    words.insert(words.end(), more.begin(), more.end());
    return words;
}

TEST(Merge, PartsHaveTheBytesOfTheWhole) {
    const Folder folder;
    const Result whole = orrery(with(question, {"--csv", folder / "a.csv", "--json", folder / "a.json"}));
    ASSERT_EQ(whole.exit, 0) << whole.err;
    std::vector<std::string> files;
    for (const char* number : {"3", "1", "5", "4", "2"}) {
        files.push_back(folder / (std::string("part-") + number));
        const Result part = orrery(with(question, {"--shard", std::string(number) + "/5", "--json", files.back()}));
        ASSERT_EQ(part.exit, 0) << part.err;
    }
    const std::vector<std::string> outputs{"--csv", folder / "b.csv", "--json", folder / "b.json"};
    const Result merged = orrery(with(with({"merge"}, files), outputs));
    ASSERT_EQ(merged.exit, 0) << merged.err;
    EXPECT_EQ(content_of(folder / "a.csv"), content_of(folder / "b.csv"));
    EXPECT_EQ(content_of(folder / "a.json"), content_of(folder / "b.json"));
    EXPECT_EQ(merged.out, whole.out) << "the table too";
    files.pop_back();
    const Result lacking = orrery(with({"merge"}, files));
    EXPECT_EQ(lacking.exit, 2);
    EXPECT_NE(lacking.err.find("2/5"), std::string::npos) << lacking.err;
}

TEST(Merge, WhatIsNoPartEndsWithTwoAndARemedy) {
    const Folder folder;
    const std::string part = folder / "part";
    ASSERT_EQ(orrery(with(question, {"--shard", "1/1", "--json", part})).exit, 0);
    const std::vector<std::vector<std::string>> refused{
        with(question, {"--shard", "1/2"}),
        with(question, {"--shard", "3/2", "--json", folder / "x"}),
        with(question, {"--shard", "one", "--json", folder / "x"}),
        with(question, {"--shard", "1/2", "--json", folder / "x", "--csv", folder / "y"}),
        {"merge"},
        {"merge", part, part},
        {"merge", folder / "none"},
        {"merge", "scenarios/gpt-1.7b-dgx-a100.json"},
        {"merge", part, "--json", part},
    };
    for (const auto& words : refused) {
        const Result result = orrery(words);
        EXPECT_EQ(result.exit, 2) << words.back() << '\n' << result.out << result.err;
        EXPECT_TRUE(result.err.starts_with("orrery: error: ")) << result.err;
        EXPECT_EQ(folder.names(), std::vector<std::string>{"part"}) << words.back();
    }
}

}  // namespace
}  // namespace orrery::cli
