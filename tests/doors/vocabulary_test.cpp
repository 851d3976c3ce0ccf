// Vocabularies by tokenizer, and their padding.
#include "doors/vocabulary.hpp"

#include <gtest/gtest.h>

namespace orrery::doors {
namespace {

TEST(Vocabulary, IsKnownByTheTokenizersName) {
    EXPECT_EQ(tokens_of("GPT2BPETokenizer"), 50257);
    EXPECT_EQ(tokens_of("meta-llama/Meta-Llama-3-8B"), 128256);
    EXPECT_EQ(tokens_of("models/Llama-2-7b-hf/tokenizer.model"), 32000);
    EXPECT_EQ(tokens_of("mistralai/Mixtral-8x22B-v0.1"), 32768);
    EXPECT_EQ(tokens_of("my/own/tokenizer.json"), std::nullopt);
    EXPECT_EQ(tokens_of(""), std::nullopt);
}

TEST(Vocabulary, IsPaddedWhereTheScenarioWouldPadOtherwise) {
    EXPECT_EQ(padded_vocabulary(50257, 128, 8), 50257U) << "the scenario pads so itself";
    EXPECT_EQ(padded_vocabulary(50257, 1024, 8), 57344U);
    EXPECT_EQ(padded_vocabulary(32000, 1, 4), 32000U);
    EXPECT_EQ(padded_vocabulary(5, ~std::uint64_t{0}, 8), 5U) << "no padding that leaves 64 bits";
}

}  // namespace
}  // namespace orrery::doors
