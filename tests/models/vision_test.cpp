// Transformers over patches of images, alone and beside a text's.
#include <gtest/gtest.h>

#include <algorithm>

#include "base/error.hpp"
#include "models/catalog.hpp"
#include "models/operators.hpp"

namespace orrery::models {
namespace {

/// google/vit-huge-patch14-224-in21k: 632,404,480 with a pooler of 1,280 x 1,280 and its bias, and no classifier.
TEST(Vit, BackbonesAreThoseOfImageNet21k) {
    const std::uint64_t classes = 1000 * 1281, pooler = 1280 * 1281;
    EXPECT_EQ(parameters(build(find("vit-h14"))) - classes + pooler, 632'404'480U);
}

TEST(Vit, IsAChainOfBlocksBetweenPatchesAndAClassifier) {
    const Model model = build(find("vit-b16"));
    EXPECT_EQ(model.uses(), (std::vector<std::uint64_t>{1, 12, 1, 1}));
    EXPECT_EQ(model.layers[0].part, Part::input);
    EXPECT_EQ(std::get<Tokens>(model.layer("class token").output), (Tokens{768, Sequence::pooled}));
    const auto& block = model.layer("block");
    const auto core = std::ranges::find_if(
        block.operators, [](const Operator& op) { return std::holds_alternative<AttentionCore>(op); });
    EXPECT_FALSE(std::get<AttentionCore>(*core).causal);
    EXPECT_EQ(causal_attention_flops(model, 1, 197, 0), 0);
}

/// A classifier of one token, whatever the others are.
TEST(Vit, ClassesAreOfOneTokenAnImage) {
    ModelSpec spec = find("vit-b16");
    const double before = model_flops(build(spec), 1, 197);
    spec.vocab = 21'843;
    EXPECT_DOUBLE_EQ(model_flops(build(spec), 1, 197) - before, 3.0 * 2 * 768 * (21'843 - 1000));
}

TEST(Vit, LargerImagesHaveMorePositions) {
    ModelSpec spec = find("vit-b16");
    spec.image.size = 384;
    EXPECT_THROW(validate(spec), Error) << "197 positions";
    spec.max_positions = 577;
    EXPECT_EQ(parameters(build(spec)), 86'859'496U) << "google/vit-base-patch16-384";
    EXPECT_NO_THROW(validate_sequence(spec, 577, "/training/seq_length"));
    EXPECT_THROW(validate_sequence(spec, 197, "/training/seq_length"), Error);
}

template <class Change>
std::string refused_at(const char* name, const Change& change) {
    ModelSpec spec = find(name);
    change(spec);
    try {
        validate(spec);
    } catch (const Error& error) {
        EXPECT_FALSE(error.hint().empty());
        return error.pointer();
    }
    return "accepted";
}

TEST(Vit, ContradictionsAreRefused) {
    EXPECT_EQ(refused_at("vit-b16", [](ModelSpec& s) { s.image.patch = 15; }), "/model/patch_size");
    EXPECT_EQ(refused_at("vit-b16", [](ModelSpec& s) { s.image.patch = 0; }), "/model/patch_size");
    EXPECT_EQ(refused_at("vit-b16", [](ModelSpec& s) { s.image.channels = 0; }), "/model/num_channels");
    EXPECT_EQ(refused_at("vit-b16", [](ModelSpec& s) { s.image.depths = {3, 4, 6, 3}; }), "/model/name");
    EXPECT_EQ(refused_at("vit-b16", [](ModelSpec& s) { s.causal = true; }), "/model/name");
    EXPECT_EQ(refused_at("vit-b16", [](ModelSpec& s) { s.text.layers = 12; }), "/model/text_hidden_size");
    EXPECT_EQ(refused_at("vit-b16", [](ModelSpec& s) { s.dropout = 0.1; }), "accepted");
    EXPECT_EQ(refused_at("gpt2", [](ModelSpec& s) { s.image.patch = 16; }), "/model/image_size");
    EXPECT_EQ(refused_at("resnet-50", [](ModelSpec& s) { s.image.patch = 16; }), "/model/name");
    EXPECT_EQ(refused_at("clip-vit-b32", [](ModelSpec& s) { s.text.heads = 7; }), "/model/text_num_attention_heads");
    EXPECT_EQ(refused_at("clip-vit-b32", [](ModelSpec& s) { s.text.projection = 0; }), "/model/projection_dim");
}

TEST(Clip, HasThePublishedParameters) {
    // openai/clip-vit-* on huggingface.co; of both towers the vision and text models alone (transformers).
    EXPECT_EQ(parameters(build(find("clip-vit-b32"))), 151'277'313U);
    EXPECT_EQ(parameters(build(find("clip-vit-b16"))), 149'620'737U);
    EXPECT_EQ(parameters(build(find("clip-vit-l14"))), 427'616'513U);
    EXPECT_EQ(parameters(build(find("clip-vit-l14-336"))), 427'944'193U);
    const Model model = build(find("clip-vit-b32"));
    std::uint64_t text = 12 * parameters(model.layer("text block")) + parameters(model.layer("text embedding"));
    text += parameters(model.layer("text token"));
    EXPECT_EQ(text, 63'165'952U);
}

TEST(Clip, TheTowersMeetInTheComparison) {
    const Model model = build(find("clip-vit-l14"));
    EXPECT_EQ(model.uses(), (std::vector<std::uint64_t>{1, 1, 24, 12, 1, 1, 1, 1, 1}));
    const Node& last = model.nodes.back();
    ASSERT_EQ(last.inputs.size(), 2U);
    EXPECT_EQ(model.layers[model.nodes[last.inputs[0]].layer].name, "image features");
    EXPECT_EQ(model.layers[model.nodes[last.inputs[1]].layer].name, "text features");
}

/// Images of 50 tokens beside texts of 77, whose attention is causal.
TEST(Clip, CountsTheTokensOfEitherTower) {
    const Model model = build(find("clip-vit-b32"));
    const auto layer = [](double tokens, double d) { return tokens * (24 * d * d + 4 * tokens * d); };
    const double image = 2.0 * 49 * 3072 * 768 + 12 * layer(50, 768) + 2 * 768 * 512;
    const double text = 12 * layer(77, 512) + 2 * 512 * 512;
    EXPECT_NEAR(model_flops(model, 8, 50, 77) / (3 * 8 * (image + text)), 1, 1e-12);
    EXPECT_NEAR(causal_attention_flops(model, 1, 50, 77) / (3 * 12 * 4 * 77.0 * 77 * 512), 1, 1e-12);
}

TEST(Vgg, IsAChainOfLayersWithWeights) {
    const Model model = build(find("vgg-16"));
    check_graph(model);
    ASSERT_EQ(model.nodes.size(), 16U);
    EXPECT_EQ(std::get<Image>(model.layer("conv5_3").output), (Image{512, 7, 7}));
    EXPECT_EQ(parameters(model.layer("fc6")), 25088U * 4096 + 4096);
}

TEST(Vgg, ContradictionsAreRefused) {
    EXPECT_EQ(refused_at("vgg-16", [](ModelSpec& s) { s.layers = 17; }), "/model/num_hidden_layers");
    EXPECT_EQ(refused_at("vgg-16", [](ModelSpec& s) { s.layers = 10; }), "/model/num_hidden_layers");
    EXPECT_EQ(refused_at("vgg-16", [](ModelSpec& s) { s.image.depths = {3, 4, 6, 3}; }), "/model/name");
    EXPECT_EQ(refused_at("vgg-16", [](ModelSpec& s) { s.image.size = 16; }), "/model/image_size");
    EXPECT_EQ(refused_at("vgg-16", [](ModelSpec& s) { s.vocab = 100; }), "accepted");
}

}  // namespace
}  // namespace orrery::models
