// Multi-token prediction: what it adds to a model, and what it needs.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/error.hpp"
#include "models/catalog.hpp"
#include "models/operators.hpp"

namespace orrery::models {
namespace {

std::vector<std::string> behind_the_body(const Model& model) {
    std::vector<std::string> names;
    for (const Node& node : model.nodes)
        if (model.layers[node.layer].part >= Part::further) names.push_back(model.layers[node.layer].name);
    return names;
}

/// Model card of DeepSeek-V3: 14B for the module, "with 11.5B unique parameters" beside the shared tables of words.
TEST(FurtherTokens, DeepSeeksModuleHasThePublishedParameters) {
    ModelSpec spec = find("deepseek-v3");
    const Model one = build(spec);
    spec.further_tokens = 1;
    const Model two = build(spec);
    const auto added = static_cast<double>(parameters(two) - parameters(one));
    EXPECT_NEAR(added / 1e9, 11.5, 0.12);
    const double tables = 2.0 * spec.vocab * spec.hidden;
    EXPECT_NEAR((added + tables) / 1e9, 14, 0.7);
    EXPECT_EQ(behind_the_body(two),
              (std::vector<std::string>{"further token", "further moe block", "further head", "head"}));
}

/// Logits once more, one more layer, and what brings both to the hidden width.
TEST(FurtherTokens, CostAHeadAndALayerEach) {
    ModelSpec spec = find("llama2-7b");
    const double plain = model_flops(build(spec), 1, 2048);
    for (const std::uint32_t tokens : {1U, 2U, 3U}) {
        spec.further_tokens = tokens;
        ModelSpec deeper = find("llama2-7b");
        deeper.layers += tokens;
        const double head = 6.0 * 2048 * spec.vocab * spec.hidden, merge = 6.0 * 2048 * 2 * spec.hidden * spec.hidden;
        EXPECT_NEAR(model_flops(build(spec), 1, 2048) / (model_flops(build(deeper), 1, 2048) + tokens * (head + merge)),
                    1, 1e-12);
        EXPECT_GT(model_flops(build(spec), 1, 2048), plain);
    }
}

TEST(FurtherTokens, LayersOfOneBranchFollowAPattern) {
    ModelSpec spec = find("nemotron-3-nano");
    spec.further_tokens = 2;
    spec.further_pattern = "*E";
    EXPECT_EQ(behind_the_body(build(spec)),
              (std::vector<std::string>{"further token", "further attention layer", "further moe layer",
                                        "next further token", "further attention layer", "further moe layer",
                                        "further head", "further head", "head"}));
}

std::string refused_at(const ModelSpec& spec) {
    try {
        validate(spec);
    } catch (const Error& error) {
        return error.pointer();
    }
    return "";
}

TEST(FurtherTokens, AreRefusedWhereTheyMeanNothing) {
    ModelSpec bert = find("bert-large");
    bert.further_tokens = 1;
    EXPECT_EQ(refused_at(bert), "/model/num_nextn_predict_layers");
    ModelSpec nano = find("nemotron-3-nano");
    nano.further_tokens = 1;
    EXPECT_EQ(refused_at(nano), "/model/mtp_hybrid_override_pattern") << "which layers?";
    nano.further_pattern = "*-";
    EXPECT_EQ(refused_at(nano), "/model/mtp_hybrid_override_pattern") << "the model has no MLPs alone";
    ModelSpec llama = find("llama2-7b");
    llama.further_pattern = "*";
    EXPECT_EQ(refused_at(llama), "/model/mtp_hybrid_override_pattern");
}

}  // namespace
}  // namespace orrery::models
