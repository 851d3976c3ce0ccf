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
    spec = find("gpt2");
    spec.image.size = 224;
    EXPECT_THROW(validate(spec), Error);
    EXPECT_THROW(validate_sequence(find("resnet-50"), 2, "/training/seq_length"), Error);
    EXPECT_NO_THROW(validate_sequence(find("resnet-50"), 1, "/training/seq_length"));
}

}  // namespace
}  // namespace orrery::models
