#include "base/text.hpp"

#include <gtest/gtest.h>

#include <array>

namespace orrery {
namespace {

using Names = std::vector<std::string>;

TEST(Join, PutsTheSeparatorBetween) {
    EXPECT_EQ(join(Names{}), "");
    EXPECT_EQ(join(Names{"a"}), "a");
    EXPECT_EQ(join(Names{"a", "b", "c"}), "a, b, c");
    EXPECT_EQ(join(std::array<std::string_view, 2>{"x", "y"}, " or "), "x or y");
}

TEST(EditDistance, CountsInsertionsDeletionsAndReplacements) {
    EXPECT_EQ(edit_distance("", ""), 0u);
    EXPECT_EQ(edit_distance("", "abc"), 3u);
    EXPECT_EQ(edit_distance("abc", ""), 3u);
    EXPECT_EQ(edit_distance("kitten", "sitting"), 3u);
    EXPECT_EQ(edit_distance("flaw", "lawn"), 2u);
    EXPECT_EQ(edit_distance("157b", "175b"), 1u);
}

constexpr std::array<std::string_view, 5> models{"gpt3-175b", "gpt-neox-20b", "llama2-70b", "bert-large", "t5"};

TEST(Nearest, PutsTheLikeliestFirst) {
    EXPECT_EQ(nearest("gpt3-157b", models, 1), Names{"gpt3-175b"});
    EXPECT_EQ(nearest("lama2-70b", models, 1), Names{"llama2-70b"});
}

TEST(Nearest, IgnoresCaseAndKindOfDash) {
    EXPECT_EQ(nearest("GPT_NeoX 20B", models, 1), Names{"gpt-neox-20b"});
    EXPECT_EQ(nearest("BERT", models, 1), Names{"bert-large"});
}

TEST(Nearest, PrefersABeginningToAResemblance) {
    // By distance alone "t5" (3) is nearer to "gpt3" than "gpt3-175b" (5) is.
    EXPECT_EQ(nearest("gpt3", models, 1), Names{"gpt3-175b"});
    EXPECT_EQ(nearest("20b", models, 1), Names{"gpt-neox-20b"});
}

TEST(Nearest, ReturnsAtMostCountAndKeepsOrderAmongEquals) {
    constexpr std::array<std::string_view, 3> same{"ab", "ac", "ad"};
    EXPECT_EQ(nearest("ax", same, 2), (Names{"ab", "ac"}));
    EXPECT_EQ(nearest("ax", same, 9).size(), 3u);
    EXPECT_TRUE(nearest("ax", {}, 3).empty());
    EXPECT_EQ(nearest("", same, 1), Names{"ab"});
}

TEST(Trimmed, LosesBlanksAtBothEndsOnly) {
    EXPECT_EQ(trimmed(" \tnode 4  nic 2\r"), "node 4  nic 2");
    EXPECT_EQ(trimmed("leaf"), "leaf");
    EXPECT_EQ(trimmed(" \t "), "");
    EXPECT_EQ(trimmed(""), "");
}

TEST(ShellWord, IsReadAgainAsItWas) {
    EXPECT_EQ(shell_word("strategy.tensor=4"), "strategy.tensor=4");
    EXPECT_EQ(shell_word(""), "''");
    EXPECT_EQ(shell_word("cluster.nic_rate=400 Gb/s"), "'cluster.nic_rate=400 Gb/s'");
    EXPECT_EQ(shell_word("it's $HOME"), "'it'\\''s $HOME'");
}

}  // namespace
}  // namespace orrery
