// Vocabularies by tokenizer.
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

}  // namespace
}  // namespace orrery::doors
