// Transformer-XL's graph against the layers of NVIDIA's code (DeepLearningExamples, mem_transformer.py), counted by
// hand.
#include <gtest/gtest.h>

#include <variant>

#include "base/error.hpp"
#include "models/catalog.hpp"
#include "models/operators.hpp"

namespace orrery::models {
namespace {

constexpr std::uint64_t words = 267735;

const AdaptiveLoss& loss_of(const Model& model) { return std::get<AdaptiveLoss>(model.layer("head").operators.back()); }

/// "Transformer-XL base, 192M".
TEST(TransformerXl, BaseHasTheParametersOfItsLayers) {
    constexpr std::uint64_t h = 512, ffn = 2048;
    const std::uint64_t attention = 3 * h * h + h * h + h * h + 2 * h,  // qkv, distances, output, norm
        mlp = 2 * h * ffn + ffn + h + 2 * h;
    const std::uint64_t ends = words * h + words + 3 * h + 3;  // words, their biases, three clusters
    EXPECT_EQ(parameters(build(find("transformer-xl-base"))), 16 * (attention + mlp) + 2 * h + ends);
    EXPECT_EQ(parameters(build(find("transformer-xl-base"))), 191'950'298U);
}

TEST(TransformerXl, LargeHasNarrowerTablesForRarerWords) {
    constexpr std::uint64_t h = 1024, ffn = 4096;
    const std::uint64_t attention = 5 * h * h + 2 * h, mlp = 2 * h * ffn + ffn + h + 2 * h;
    const std::uint64_t tables = 19997 * 1024 + 20000 * 256 + 160000 * 64 + 67738 * 16;
    const std::uint64_t projections = h * (1024 + 256 + 64 + 16) + h * h;  // of the softmax the first is its own
    EXPECT_EQ(parameters(build(find("transformer-xl-large"))),
              18 * (attention + mlp) + 2 * h + tables + projections + words + 3 * h + 3);
    EXPECT_EQ(parameters(build(find("transformer-xl-large"))), 285'167'482U);
}

/// WikiText-103: 103 million tokens, words that occur three times and more.
TEST(TransformerXl, SharesOfWordsAreThoseOfZipfsLaw) {
    const Model model = build(find("transformer-xl-base"));
    const AdaptiveLoss& loss = loss_of(model);
    ASSERT_EQ(loss.clusters.size(), 4U);
    double sum = 0;
    for (const WordCluster& cluster : loss.clusters) sum += cluster.share;
    EXPECT_NEAR(sum, 1, 1e-9);
    const auto rarest = [](std::uint32_t last_words) {
        ModelSpec spec = find("transformer-xl-base");
        spec.recurrence.cutoffs[2] = static_cast<std::uint32_t>(words) - last_words;
        return loss_of(build(spec)).clusters.back().share / last_words;
    };
    EXPECT_NEAR(rarest(1) / (3.0 / 103'227'021), 1, 0.01);
    EXPECT_GT(loss.clusters[0].share, 0.85);
    EXPECT_GT(loss.clusters[1].share, loss.clusters[2].share);  // 20,000 words against 160,000
    EXPECT_GT(loss.clusters[2].share, 10 * loss.clusters[3].share);
}

/// Keys of a segment of 192 tokens are 384: queries, keys and values of all, scores by content and by distance.
TEST(TransformerXl, ComputesOverSegmentAndMemory) {
    const Model model = build(find("transformer-xl-base"));
    constexpr double h = 512, ffn = 2048, q = 192, k = 384;
    const double layer = 2 * k * 3 * h * h + 2 * k * h * h + 2 * q * h * h + 2 * 3 * q * k * h + 2 * 2 * q * h * ffn;
    double columns = 0;
    for (const WordCluster& cluster : loss_of(model).clusters)
        columns += cluster.first == 0 ? 20000.0 : cluster.share * static_cast<double>(cluster.words());
    EXPECT_NEAR(model_flops(model, 7, 192) / (7 * 3 * (16 * layer + 2 * q * h * columns)), 1, 1e-12);
}

TEST(TransformerXl, RefusesWhatItIsNot) {
    const auto pointer = [](void (*change)(ModelSpec&), const char* name = "transformer-xl-large") {
        ModelSpec spec = find(name);
        change(spec);
        try {
            validate(spec);
        } catch (const Error& error) {
            return error.pointer();
        }
        return std::string("accepted");
    };
    EXPECT_EQ(pointer([](ModelSpec& s) { s.recurrence.memory = 0; }), "/model/mem_len");
    EXPECT_EQ(pointer([](ModelSpec& s) { s.recurrence.cutoffs = {100, 100, 200}; }), "/model/cutoffs");
    EXPECT_EQ(pointer([](ModelSpec& s) { s.recurrence.cutoffs[2] = s.vocab; }), "/model/cutoffs");
    EXPECT_EQ(pointer([](ModelSpec& s) { s.recurrence.divisor = 3; }), "/model/div_val");
    EXPECT_EQ(pointer([](ModelSpec& s) { s.recurrence.divisor = 0; }), "/model/div_val");
    EXPECT_EQ(pointer([](ModelSpec& s) { s.gated = true; }), "/model/name");
    EXPECT_EQ(pointer([](ModelSpec& s) { s.recurrence.memory = 8; }, "gpt2"), "/model/mem_len");
    EXPECT_EQ(pointer([](ModelSpec& s) { s.recurrence.memory = 640; }), "accepted");
}

}  // namespace
}  // namespace orrery::models
