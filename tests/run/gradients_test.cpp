// The reference's gradients against finite differences, so that what every mesh is held to is right itself.
#include <gtest/gtest.h>

#include <random>

#include "tests/run/reference_model.hpp"

namespace orrery::run {
namespace {

strategies::Plan tiny(bool llama) {
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
        plan.model.tied_embeddings = plan.model.linear_bias = plan.model.qkv_bias = false;
        plan.model.norm = models::NormKind::rmsnorm;
        plan.model.position = models::PositionKind::rope;
        plan.model.max_positions = 0;
    }
    plan.training.seq = 6;
    plan.training.micro_batch = 1;
    plan.training.global_batch = 3;
    return plan;
}

class FiniteDifferences : public testing::TestWithParam<bool> {};

TEST_P(FiniteDifferences, AgreeWithTheGradientOfEveryParameter) {
    const strategies::Plan plan = tiny(GetParam());
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

INSTANTIATE_TEST_SUITE_P(Models, FiniteDifferences, testing::Bool(),
                         [](const auto& one) { return std::string(one.param ? "Llama" : "Gpt"); });

}  // namespace
}  // namespace orrery::run
