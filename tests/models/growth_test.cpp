// Random specs: parameters and operations grow with every dimension.
#include <gtest/gtest.h>

#include <functional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "models/operators.hpp"

namespace orrery::models {
namespace {

std::uint32_t pick(std::mt19937_64& random, std::uint32_t least, std::uint32_t most) {
    return least + static_cast<std::uint32_t>(random() % (most - least + 1));
}

bool coin(std::mt19937_64& random) { return random() % 2 == 0; }

ModelSpec random_spec(std::mt19937_64& random) {
    ModelSpec spec;
    spec.layers = pick(random, 1, 200);
    spec.kv_heads = pick(random, 1, 16);
    spec.heads = spec.kv_heads * pick(random, 1, 8);
    spec.head_dim = 2 * pick(random, 1, 128);
    spec.hidden = pick(random, 1, 20'000);
    spec.ffn = pick(random, 1, 80'000);
    spec.vocab = pick(random, 1, 300'000);
    spec.position = static_cast<PositionKind>(random() % 4);
    if (spec.position == PositionKind::learned) spec.max_positions = pick(random, 1, 10'000);
    spec.norm = coin(random) ? NormKind::layernorm : NormKind::rmsnorm;
    spec.gated = coin(random);
    spec.causal = coin(random);
    spec.mlm_head = !spec.causal && coin(random);
    spec.post_norm = coin(random);
    spec.parallel_residual = !spec.post_norm && coin(random);
    spec.embedding_norm = coin(random);
    spec.tied_embeddings = coin(random);
    spec.linear_bias = coin(random);
    spec.qkv_bias = coin(random);
    return spec;
}

void for_random_specs(const std::function<void(const ModelSpec&, std::mt19937_64&)>& check) {
    for (std::uint64_t seed = 1; seed <= 300; ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        std::mt19937_64 random(seed);
        check(random_spec(random), random);
        if (testing::Test::HasFailure()) return;
    }
}

TEST(Growth, EveryDimensionAddsParametersAndFlops) {
    const std::vector<std::pair<std::string, std::function<void(ModelSpec&)>>> larger{
        {"layers", [](ModelSpec& s) { ++s.layers; }},
        {"hidden", [](ModelSpec& s) { ++s.hidden; }},
        {"heads", [](ModelSpec& s) { s.heads += s.kv_heads; }},
        {"head_dim", [](ModelSpec& s) { s.head_dim += 2; }},
        {"kv_heads", [](ModelSpec& s) { s.heads = s.kv_heads = s.heads + 1; }},
        {"ffn", [](ModelSpec& s) { ++s.ffn; }},
        {"vocab", [](ModelSpec& s) { ++s.vocab; }}};
    for_random_specs([&](const ModelSpec& spec, std::mt19937_64& random) {
        const std::uint64_t sequences = pick(random, 1, 100), seq = pick(random, 1, 10'000);
        const Model small = build(spec);
        for (const auto& [name, change] : larger) {
            ModelSpec grown = spec;
            change(grown);
            const Model large = build(grown);
            EXPECT_GT(parameters(large), parameters(small)) << name;
            EXPECT_GT(model_flops(large, sequences, seq), model_flops(small, sequences, seq)) << name;
        }
        EXPECT_GT(model_flops(small, sequences + 1, seq), model_flops(small, sequences, seq));
        EXPECT_GT(model_flops(small, sequences, seq + 1), model_flops(small, sequences, seq));
    });
}

TEST(Growth, RecomputationAddsBetweenNothingAndAThird) {
    for_random_specs([](const ModelSpec& spec, std::mt19937_64& random) {
        const Model model = build(spec);
        const std::uint64_t seq = pick(random, 1, 10'000);
        const double ratio = hardware_flops_full_recompute(model, 4, seq) / model_flops(model, 4, seq);
        EXPECT_GT(ratio, 1.0);
        EXPECT_LT(ratio, 4.0 / 3.0);  // the head is not recomputed
    });
}

TEST(Growth, WholeModelIsItsLayers) {
    for_random_specs([](const ModelSpec& spec, std::mt19937_64&) {
        ModelSpec deeper = spec;
        deeper.layers += 7;
        const Model model = build(spec);
        EXPECT_EQ(parameters(build(deeper)) - parameters(model), 7 * parameters(model.layer("block")));
    });
}

TEST(Growth, QueryAndKeyNormsAddTwoWeightsOfAHead) {
    for_random_specs([](const ModelSpec& spec, std::mt19937_64&) {
        if (spec.position != PositionKind::rope) return;
        ModelSpec normed = spec;
        normed.qk_norm = true;
        EXPECT_EQ(parameters(build(normed)) - parameters(build(spec)), 2ull * spec.layers * spec.head_dim);
    });
}

}  // namespace
}  // namespace orrery::models
