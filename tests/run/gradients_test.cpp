// The reference's gradients against finite differences, so that what every mesh is held to is right itself.
#include <gtest/gtest.h>

#include <array>
#include <random>

#include "tests/run/layer_models.hpp"
#include "tests/run/small_models.hpp"

namespace orrery::run {
namespace {

enum class Kind : std::uint8_t { gpt, llama, gpt_experts, llama_experts };

/// Of 3 experts a token is sent to one, or to two beside one that all take.
void add_experts(models::ModelSpec& spec, bool llama) {
    spec.experts = 3;
    spec.experts_per_token = llama ? 2 : 1;
    spec.expert_ffn = 10;
    spec.shared_expert_ffn = llama ? 6 : 0;
    spec.moe_layer_freq = llama ? 1 : 2;
}

strategies::Plan tiny(Kind kind) {
    const bool llama = kind == Kind::llama || kind == Kind::llama_experts;
    strategies::Plan plan;
    plan.model = {.name = "tiny",
                  .layers = 2,
                  .hidden = 8,
                  .heads = 2,
                  .kv_heads = 2,
                  .head_dim = 4,
                  .ffn = 12,
                  .vocab = 20,
                  .max_positions = 6};
    if (llama) {
        plan.model.kv_heads = 1;
        plan.model.gated = true;
        plan.model.activation = models::ActivationKind::silu;
        plan.model.tied_embeddings = plan.model.linear_bias = plan.model.qkv_bias = false;
        plan.model.norm = models::NormKind::rmsnorm;
        plan.model.position = models::PositionKind::rope;
        plan.model.max_positions = 0;
    }
    if (kind == Kind::gpt_experts || kind == Kind::llama_experts) add_experts(plan.model, llama);
    plan.training.seq = 6;
    plan.training.micro_batch = 1;
    plan.training.global_batch = 3;
    return plan;
}

void expect_agreement(const strategies::Plan& plan) {
    const RunSettings settings;
    const ReferenceStep step = train_reference(plan, settings, 1).front();
    constexpr std::uint64_t seed = 7;
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    constexpr double delta = 1e-5;
    for (const auto& [name, gradient] : step.gradients) {
        double largest = 0;
        for (const double g : gradient) largest = std::max(largest, std::abs(g));
        ASSERT_GT(largest, 0) << name;
        for (int sample = 0; sample < 8; ++sample) {
            const std::size_t i = random() % gradient.size();
            const double up = reference_loss(plan, settings, name, i, delta);
            const double down = reference_loss(plan, settings, name, i, -delta);
            EXPECT_NEAR((up - down) / (2 * delta), gradient[i], 1e-5 * largest + 1e-10) << name << " element " << i;
        }
    }
}

class FiniteDifferences : public testing::TestWithParam<Kind> {};

TEST_P(FiniteDifferences, AgreeWithTheGradientOfEveryParameter) { expect_agreement(tiny(GetParam())); }

/// Of two layers of each other kind, in an encoder and in a decoder.
TEST(FiniteDifferencesOf, AgreeInOtherLayers) {
    std::vector<models::ModelSpec> specs = layer_models();
    for (const models::ModelSpec& spec : {small_t5(), small_megatron_t5()}) specs.push_back(spec);
    for (const models::ModelSpec& spec : {small_latent(), small_latent_lite(), small_latent_experts()})
        specs.push_back(spec);
    for (models::ModelSpec spec : {small_gpt(), small_llama()}) {
        spec.name += " with dropouts";
        spec.dropout = 0.3;
        specs.push_back(spec);
    }
    for (models::ModelSpec& spec : specs) {
        SCOPED_TRACE(spec.name);
        spec.layers = 2;
        strategies::Plan plan = plan_of(spec);
        plan.training.micro_batch = 1;
        plan.training.global_batch = 2;
        expect_agreement(plan);
    }
}

std::string name_of(const testing::TestParamInfo<Kind>& one) {
    constexpr std::array<const char*, 4> names{"Gpt", "Llama", "GptWithExperts", "LlamaWithExperts"};
    return names[static_cast<std::size_t>(one.param)];
}

INSTANTIATE_TEST_SUITE_P(Models, FiniteDifferences,
                         testing::Values(Kind::gpt, Kind::llama, Kind::gpt_experts, Kind::llama_experts), name_of);

}  // namespace
}  // namespace orrery::run
