// Graphs of layers: what build() promises of each, and networks over images.
#include <gtest/gtest.h>

#include <algorithm>
#include <stdexcept>

#include "base/error.hpp"
#include "models/catalog.hpp"
#include "models/operators.hpp"

namespace orrery::models {
namespace {

const Layer& type_of(const Model& model, std::size_t node) { return model.layers[model.nodes[node].layer]; }

TEST(Graph, OfATransformerIsAChainOfFewTypes) {
    const Model model = build(find("gpt3-175b"));
    EXPECT_EQ(model.layers.size(), 3U);
    ASSERT_EQ(model.nodes.size(), 98U);
    EXPECT_TRUE(model.nodes[0].inputs.empty());
    for (std::uint32_t i = 1; i < 98; ++i) EXPECT_EQ(model.nodes[i].inputs, std::vector<std::uint32_t>{i - 1});
    EXPECT_EQ(model.uses(), (std::vector<std::uint64_t>{1, 96, 1}));
    EXPECT_EQ(type_of(model, 0).part, Part::input);
    EXPECT_EQ(type_of(model, 97).part, Part::output);
}

TEST(Graph, PlacesExpertsWhereTheSpecSays) {
    const Model model = build(find("gpt-350m-moe-128"));
    for (std::uint32_t i = 0; i < model.spec.layers; ++i)
        EXPECT_EQ(type_of(model, i + 1).name, i % 2 == 0 ? "moe block" : "block");
}

TEST(Graph, OfEveryModelOfTheCatalogIsSound) {
    for (const ModelSpec& spec : catalog()) EXPECT_NO_THROW(check_graph(build(spec))) << spec.name;
}

TEST(Graph, UnsoundOnesAreFound) {
    const Model sound = build(find("resnet-50"));
    const auto refused = [&](auto change) {
        Model model = sound;
        change(model);
        EXPECT_THROW(check_graph(model), std::logic_error);
    };
    refused([](Model& m) { m.nodes[1].inputs = {2}; });       // a later node's output
    refused([](Model& m) { m.nodes[3].inputs.pop_back(); });  // an input too few
    refused([](Model& m) { m.nodes[3].inputs[1] = 0; });
    refused([](Model& m) { m.nodes.push_back({.layer = 0}); });  // an input behind the output
    refused([](Model& m) { m.nodes.back().inputs = {0}; });      // an image of another shape
    refused([](Model& m) { m.nodes.insert(m.nodes.begin() + 1, Node{.layer = 1, .inputs = {0}}); });
}

struct Published {
    const char* name;
    std::uint64_t parameters;
    double multiply_adds;  ///< forward, one image of 224 x 224
};

TEST(ResNet, HasThePublishedParametersAndOperations) {
    // torchvision's resnet50, resnet101 and resnet152: num_params and _ops (10^9 multiply-adds) of their weights.
    for (const Published& published :
         {Published{"resnet-50", 25'557'032, 4.089}, Published{"resnet-101", 44'549'160, 7.801},
          Published{"resnet-152", 60'192'808, 11.514}}) {
        const Model model = build(find(published.name));
        EXPECT_EQ(parameters(model), published.parameters) << published.name;
        EXPECT_EQ(active_parameters(model), published.parameters);
        EXPECT_NEAR(model_flops(model, 1, 1) / 6e9, published.multiply_adds, 0.0005) << published.name;
    }
}

/// 2,048 weights and a bias a class, behind 23,508,032 parameters.
TEST(ResNet, HasAsManyClassesAsItsNameSays) {
    EXPECT_EQ(parameters(build(find("resnet-50-100k"))), 23'508'032U + 2049U * 100'000U);
    EXPECT_EQ(parameters(build(find("resnet-50-1m"))), 23'508'032U + 2049U * 1'000'000U);
}

TEST(ResNet, AResidualIsTheSecondInputOfAJoin) {
    const Model model = build(find("resnet-50"));
    EXPECT_EQ(model.nodes.size(), 1U + 4 * 3 + 12 * 2 + 1);
    // stem, branch, shortcut, join; branch, join; ...
    EXPECT_EQ(model.nodes[1].inputs, std::vector<std::uint32_t>{0});
    EXPECT_EQ(model.nodes[2].inputs, std::vector<std::uint32_t>{0});
    EXPECT_EQ(model.nodes[3].inputs, (std::vector<std::uint32_t>{1, 2}));
    EXPECT_EQ(model.nodes[5].inputs, (std::vector<std::uint32_t>{4, 3}));
    EXPECT_EQ(std::get<Image>(type_of(model, 0).output), (Image{64, 56, 56}));
    EXPECT_EQ(std::get<Image>(type_of(model, model.nodes.size() - 2).output), (Image{2048, 7, 7}));
}

TEST(ResNet, AnotherSizeOfImagesKeepsTheParameters) {
    ModelSpec spec = find("resnet-50");
    spec.image.size = 448;
    EXPECT_EQ(parameters(build(spec)), 25'557'032U);
    EXPECT_NEAR(model_flops(build(spec), 1, 1) / model_flops(build(find("resnet-50")), 1, 1), 4, 0.01);
}

TEST(ResNet, ContradictionsAreRefused) {
    ModelSpec spec = find("resnet-50");
    spec.layers = 12;
    EXPECT_THROW(validate(spec), Error);
    spec = find("resnet-50");
    spec.hidden = 4096;  // a key without effect
    EXPECT_THROW(validate(spec), Error);
    spec = find("resnet-50");
    spec.dropout = 0.1;
    EXPECT_THROW(validate(spec), Error);
    spec = find("resnet-50");
    spec.vocab = 21841;
    EXPECT_NO_THROW(validate(spec));
    spec = find("gpt2");
    spec.image.size = 224;
    EXPECT_THROW(validate(spec), Error);
    EXPECT_THROW(validate_sequence(find("resnet-50"), 2, "/training/seq_length"), Error);
    EXPECT_NO_THROW(validate_sequence(find("resnet-50"), 1, "/training/seq_length"));
}

TEST(T5, HasThePublishedParameters) {
    // google-t5/t5-* on huggingface.co (safetensors metadata, shared tensors once).
    for (const auto& [name, count] :
         std::initializer_list<std::pair<const char*, std::uint64_t>>{{"t5-small", 60'506'624},
                                                                      {"t5-base", 222'903'552},
                                                                      {"t5-large", 737'668'096},
                                                                      {"t5-3b", 2'851'598'336},
                                                                      {"t5-11b", 11'307'321'344},
                                                                      {"t5-v1.1-small", 76'961'152},
                                                                      {"t5-v1.1-base", 247'577'856},
                                                                      {"t5-v1.1-large", 783'150'080},
                                                                      {"t5-v1.1-xl", 2'849'757'184},
                                                                      {"t5-v1.1-xxl", 11'135'332'352}})
        EXPECT_EQ(parameters(build(find(name))), count) << name;
}

/// Megatron-LM's "220M" (examples/t5/train_t5_220m_distributed.sh): learned positions, biases, one table of words.
TEST(T5, MegatronLMsHasPositionsAndBiases) {
    ModelSpec spec = find("gpt2");
    spec.family = Family::t5;
    spec.decoder_layers = 12;
    spec.causal = false;
    spec.logits_bias = true;
    spec.vocab = 29056;
    spec.max_positions = 512;
    const std::uint64_t d = 768, norm = 2 * d, self = 4 * d * d + 4 * d, mlp = 8 * d * d + 5 * d;
    EXPECT_EQ(parameters(build(spec)), (29056 + 512) * d + 12 * (2 * norm + self + mlp) + norm +
                                           12 * (3 * norm + 2 * self + mlp) + norm + 29056);
}

TEST(T5, EveryDecoderLayerTakesTheEncodersOutput) {
    const Model model = build(find("t5-base"));
    const std::size_t norm = 2 + 12;  // behind the embeddings and the encoder
    EXPECT_EQ(type_of(model, norm).name, "encoder norm");
    EXPECT_EQ(model.nodes[norm + 1].inputs, (std::vector<std::uint32_t>{1, norm}));
    for (std::uint32_t i = norm + 2; i < norm + 13; ++i)
        EXPECT_EQ(model.nodes[i].inputs, (std::vector<std::uint32_t>{i - 1, norm}));
    EXPECT_EQ(std::get<Tokens>(type_of(model, norm + 1).inputs[1]).sequence, Sequence::only);
    EXPECT_EQ(std::get<Tokens>(type_of(model, norm + 1).output).sequence, Sequence::decoded);
}

TEST(T5, CountsTheTokensOfEitherSequence) {
    const Model model = build(find("t5-base"));
    const double d = 768, ffn = 3072, encoded = 512, decoded = 114;
    const double mlp = 2 * d * ffn, self = 4 * d * d;  // weights
    const double encoder = encoded * (2 * (self + mlp) + 4 * encoded * d);
    const double decoder = decoded * (2 * (self + 2 * d * d + mlp) + 4 * decoded * d + 4 * encoded * d) +
                           encoded * 2 * 2 * d * d;  // keys and values of the encoder's tokens
    const double forward = 12 * (encoder + decoder) + decoded * 2 * d * 32128;
    EXPECT_NEAR(model_flops(model, 8, 512, 114) / (3 * 8 * forward), 1, 1e-12);
}

TEST(T5, ContradictionsAreRefused) {
    ModelSpec spec = find("t5-base");
    spec.decoder_layers = 0;
    EXPECT_THROW(validate(spec), Error);
    spec = find("gpt2");
    spec.decoder_layers = 12;
    EXPECT_THROW(validate(spec), Error);
}

}  // namespace
}  // namespace orrery::models
