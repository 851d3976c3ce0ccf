// The order and the widths of the operators of each structure.
#include "models/operators.hpp"

#include <gtest/gtest.h>

#include <string>

#include "base/error.hpp"
#include "models/catalog.hpp"

namespace orrery::models {
namespace {

struct Word {
    std::string operator()(const Linear& linear) const { return linear.name; }
    std::string operator()(const Embedding&) const { return "embedding"; }
    std::string operator()(const RelativePositions&) const { return "relative"; }
    std::string operator()(const Norm& norm) const { return norm.name; }
    std::string operator()(const Rope&) const { return "rope"; }
    std::string operator()(const AttentionCore&) const { return "attention"; }
    std::string operator()(const Activation&) const { return "activation"; }
    std::string operator()(const Experts&) const { return "experts"; }
    std::string operator()(const StateMixer&) const { return "mixer"; }
    std::string operator()(const ResidualAdd&) const { return "residual"; }
    std::string operator()(const Loss&) const { return "loss"; }
    std::string operator()(const Convolution& convolution) const { return convolution.name; }
    std::string operator()(const BatchNorm& norm) const { return norm.name; }
    std::string operator()(const Relu&) const { return "relu"; }
    std::string operator()(const Pooling&) const { return "pooling"; }
    std::string operator()(const Join&) const { return "join"; }
    std::string operator()(const Dropout&) const { return "dropout"; }
    std::string operator()(const RecurrentAttention&) const { return "recurrent attention"; }
    std::string operator()(const AdaptiveEmbedding&) const { return "adaptive embedding"; }
    std::string operator()(const AdaptiveLoss&) const { return "adaptive loss"; }
    std::string operator()(const Concatenation&) const { return "concatenation"; }
    std::string operator()(const PatchEmbedding&) const { return "patches"; }
    std::string operator()(const PickToken&) const { return "token"; }
    std::string operator()(const ContrastiveLoss&) const { return "comparison"; }
};

std::string words(const Layer& layer) {
    std::string text;
    for (const Operator& op : layer.operators) {
        if (!text.empty()) text += ' ';
        text += std::visit(Word{}, op);
    }
    return text;
}

template <class Kind>
const Kind& only(const Layer& layer, const std::string& word) {
    const Kind* found = nullptr;
    for (const Operator& op : layer.operators)
        if (std::visit(Word{}, op) == word) found = std::get_if<Kind>(&op);
    if (found == nullptr) throw Error("no operator " + word);
    return *found;
}

TEST(Operators, Gpt) {
    const Model model = build(find("gpt3-175b"));
    EXPECT_EQ(words(model.layer("embedding")), "embedding");
    EXPECT_EQ(words(model.layer("block")),
              "attention_norm qkv attention projection residual mlp_norm up activation down residual");
    EXPECT_EQ(words(model.layer("head")), "final_norm logits loss");
    EXPECT_EQ(only<Embedding>(model.layer("embedding"), "embedding").positions, 2048u);
}

TEST(Operators, LlamaRotatesAndGates) {
    const Model model = build(find("llama2-70b"));
    EXPECT_EQ(words(model.layer("block")),
              "attention_norm qkv rope attention projection residual mlp_norm up activation down residual");
    const auto& qkv = only<Linear>(model.layer("block"), "qkv");
    EXPECT_EQ(qkv.out, Dim::qkv);
    EXPECT_EQ(qkv.out_features, (64u + 2 * 8) * 128);
    EXPECT_FALSE(qkv.bias);
    EXPECT_EQ(only<Rope>(model.layer("block"), "rope").heads, 72u);
    EXPECT_FALSE(only<Rope>(model.layer("block"), "rope").norm);
    const auto& up = only<Linear>(model.layer("block"), "up");
    EXPECT_EQ(up.out, Dim::ffn);
    EXPECT_EQ(up.out_features, 2u * 28672);
    EXPECT_TRUE(only<Activation>(model.layer("block"), "activation").gated);
    EXPECT_EQ(only<Activation>(model.layer("block"), "activation").width, 28672u);
    EXPECT_EQ(only<Linear>(model.layer("block"), "down").in_features, 28672u);
    EXPECT_EQ(only<Embedding>(model.layer("embedding"), "embedding").positions, 0u);
    EXPECT_FALSE(only<Linear>(model.layer("head"), "logits").shares_embedding);
    EXPECT_FALSE(only<AttentionCore>(model.layer("block"), "attention").dropout);
}

TEST(Operators, NeoxAddsOnce) {
    const Model model = build(find("gpt-neox-20b"));
    EXPECT_EQ(words(model.layer("block")),
              "attention_norm qkv rope attention projection mlp_norm up activation down residual");
}

TEST(Operators, BertNormalisesBehindItsSums) {
    const Model model = build(find("bert-base"));
    EXPECT_EQ(words(model.layer("embedding")), "embedding embedding_norm");
    EXPECT_EQ(words(model.layer("block")),
              "qkv attention projection residual attention_norm up activation down residual mlp_norm");
    EXPECT_EQ(words(model.layer("head")), "mlm_dense activation mlm_norm logits loss");
    EXPECT_EQ(only<Embedding>(model.layer("embedding"), "embedding").token_types, 2u);
    EXPECT_FALSE(only<AttentionCore>(model.layer("block"), "attention").causal);
    EXPECT_TRUE(only<Linear>(model.layer("head"), "logits").bias);
    EXPECT_TRUE(only<Linear>(model.layer("head"), "logits").shares_embedding);
}

TEST(Operators, MegatronBertNormalisesFirst) {
    const Model model = build(find("megatron-bert-3.9b"));
    EXPECT_EQ(words(model.layer("embedding")), "embedding");
    EXPECT_EQ(words(model.layer("block")),
              "attention_norm qkv attention projection residual mlp_norm up activation down residual");
    EXPECT_EQ(words(model.layer("head")), "final_norm mlm_dense activation mlm_norm logits loss");
}

TEST(Operators, QwenHasBiasOnlyInQkv) {
    const Model model = build(find("qwen2-7b"));
    EXPECT_TRUE(only<Linear>(model.layer("block"), "qkv").bias);
    for (const auto name : {"projection", "up", "down"})
        EXPECT_FALSE(only<Linear>(model.layer("block"), name).bias) << name;
    EXPECT_TRUE(only<Rope>(build(find("qwen3-8b")).layer("block"), "rope").norm);
}

TEST(Operators, HeadsMayBeWiderThanTheResidualStream) {
    const Model model = build(find("qwen3-32b"));  // 64 heads of 128 on 5120
    EXPECT_EQ(only<Linear>(model.layer("block"), "projection").in_features, 8192u);
    EXPECT_EQ(only<Linear>(model.layer("block"), "projection").in, Dim::attention);
    EXPECT_EQ(only<Linear>(model.layer("block"), "projection").out_features, 5120u);
}

TEST(Operators, DropoutReachesEveryKernelThatHasIt) {
    ModelSpec spec = find("gpt2");
    for (const double rate : {0.1, 0.0}) {
        spec.dropout = rate;
        const Model model = build(spec);
        EXPECT_EQ(only<Embedding>(model.layer("embedding"), "embedding").dropout, rate > 0);
        EXPECT_EQ(only<AttentionCore>(model.layer("block"), "attention").dropout, rate > 0);
        EXPECT_EQ(only<ResidualAdd>(model.layer("block"), "residual").dropout, rate > 0);
    }
}

TEST(Operators, OfImagesAndTexts) {
    const Model vit = build(find("vit-l16")), clip = build(find("clip-vit-l14"));
    EXPECT_EQ(words(vit.layer("patch embedding")), "patches");
    EXPECT_EQ(words(vit.layer("block")),
              "attention_norm qkv attention projection residual mlp_norm up activation down residual");
    EXPECT_EQ(words(vit.layer("class token")), "final_norm token");
    EXPECT_EQ(words(vit.layer("classifier")), "classes loss");
    EXPECT_EQ(words(clip.layer("patch embedding")), "patches embedding_norm");
    EXPECT_EQ(words(clip.layer("image token")) + ", " + words(clip.layer("image features")),
              "token, image_norm image_projection");
    EXPECT_EQ(words(clip.layer("text token")) + ", " + words(clip.layer("text features")),
              "text_norm token, text_projection");
    EXPECT_TRUE(only<AttentionCore>(clip.layer("text block"), "attention").causal);
    EXPECT_FALSE(only<AttentionCore>(clip.layer("image block"), "attention").causal);
}

TEST(Operators, WidthsChainThroughEveryModel) {
    for (const ModelSpec& spec : catalog()) {
        const Model model = build(spec);
        if (spec.image.size > 0 || spec.decoder_layers > 0 || !spec.layer_pattern.empty() ||
            spec.moe_layers() == spec.layers || spec.recurrence.memory > 0)
            continue;  // without heads, or without an MLP; or of operators of their own
        const auto& core = only<AttentionCore>(model.layer("block"), "attention");
        const std::uint64_t heads = (core.heads + core.kv_heads) * core.head_dim + core.kv_heads * core.values();
        std::uint64_t made =
            0;  // of queries, keys and values; in latent attention by two products, of which the rotated
        for (const Operator& op : model.layer("block").operators)  // part of keys, the same for all heads, is none
            if (const auto* linear = std::get_if<Linear>(&op); linear != nullptr && linear->out == Dim::qkv)
                made += linear->out_features;
        EXPECT_EQ(made, heads - core.heads * spec.rope_head_dim) << spec.name;
        EXPECT_EQ(only<Linear>(model.layer("block"), "projection").in_features, core.heads * core.values())
            << spec.name;
        const auto& activation = only<Activation>(model.layer("block"), "activation");
        EXPECT_EQ(only<Linear>(model.layer("block"), "up").out_features, activation.width * (activation.gated ? 2 : 1));
        EXPECT_EQ(only<Linear>(model.layer("block"), "down").in_features, activation.width) << spec.name;
        EXPECT_EQ(only<Linear>(model.layer("head"), "logits").out_features,
                  only<Loss>(model.layer("head"), "loss").vocab)
            << spec.name;
    }
}

TEST(Operators, TransformerXlNormalisesBehindItsBranches) {
    const Model model = build(find("transformer-xl-large"));
    EXPECT_EQ(words(model.layer("embedding")), "adaptive embedding");
    EXPECT_EQ(words(model.layer("block")),
              "recurrent attention projection residual attention_norm up activation dropout down residual mlp_norm");
    EXPECT_EQ(words(model.layer("head")), "dropout adaptive loss");
}

TEST(Operators, BuildRefusesAContradictingSpec) {
    ModelSpec spec = find("gpt2");
    spec.kv_heads = 5;
    EXPECT_THROW(build(spec), Error);
}

}  // namespace
}  // namespace orrery::models
