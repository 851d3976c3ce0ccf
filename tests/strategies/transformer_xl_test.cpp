// Transformer-XL on data ranks: its program computes what its graph counts, and keeps its memory.
#include <gtest/gtest.h>

#include "base/error.hpp"
#include "models/catalog.hpp"
#include "models/operators.hpp"
#include "strategies/build.hpp"
#include "strategies/stage.hpp"
#include "tests/strategies/tiny_plan.hpp"

namespace orrery::strategies {
namespace {

Plan recurrent(const char* model = "transformer-xl-base", std::uint32_t batch = 1) {
    Plan plan = tiny_plan(1, 1, 1);
    plan.model = models::find(model);
    plan.training.seq = plan.model.recurrence.memory;
    plan.training.micro_batch = plan.training.global_batch = batch;
    plan.training.fused_attention = false;
    plan.training.kernel_fusion = KernelFusion::operators;
    return plan;
}

/// Three forward passes, but for the gradient of the distances' sinusoids. Tokens of a cluster are whole.
TEST(TransformerXlPlan, ComputesThreeForwardPassesButForTheGradientOfDistances) {
    for (const char* const name : {"transformer-xl-base", "transformer-xl-large"}) {
        const Plan plan = recurrent(name);
        validate(plan);
        const StepProgram step = build(plan);
        EXPECT_TRUE(verify(step).empty());
        const double keys = 2.0 * plan.training.seq, h = plan.model.hidden;
        const double distances = plan.model.layers * 2 * keys * h * h;
        const double counted = models::model_flops(models::build(plan.model), 1, plan.training.seq) - distances;
        EXPECT_NEAR(kernel_flops(step) / counted, 1, 0.01) << name;
    }
}

/// Distances are the same for all sequences of a micro-batch.
TEST(TransformerXlPlan, MakesKeysOfDistancesOnceAMicroBatch) {
    const auto distances = [](std::uint32_t batch) {
        const Plan plan = recurrent("transformer-xl-base", batch);
        const ShardedLayer layer = shard(models::build(plan.model).layer("block"), plan);
        for (const Work& work : layer.pieces.front().forward)
            if (work.name == "distances") return kernels::flops(std::get<kernels::Kernel>(work.what));
        return 0.0;
    };
    EXPECT_EQ(distances(1), 2.0 * 384 * 512 * 512);
    EXPECT_EQ(distances(8), distances(1));
}

TEST(TransformerXlPlan, HoldsEveryParameterOnce) {
    for (const char* const name : {"transformer-xl-base", "transformer-xl-large"}) {
        StepProgram step;
        Intern intern(step);
        const Plan plan = recurrent(name);
        EXPECT_EQ(place_layers(add_model_blocks(step, intern, plan), plan, 0).counts.trained,
                  models::parameters(models::build(plan.model)));
    }
}

/// Of a longer memory more states are carried, more keys kept, and more scores.
TEST(TransformerXlPlan, KeepsMoreOfALongerMemory) {
    const auto saved = [](std::uint32_t memory) {
        Plan plan = recurrent();
        plan.model.recurrence.memory = memory;
        return shard(models::build(plan.model).layer("block"), plan).saved_bytes();
    };
    constexpr std::uint64_t h = 512, heads = 8, q = 192, more = 192;
    // In 16 bits: joined states, keys and values, keys of distances, states of the memory; scores of every query.
    EXPECT_EQ(saved(384) - saved(192), 2 * (more * h + 2 * more * h + more * h + more * h + heads * q * more));
}

TEST(TransformerXlPlan, IsDividedAmongDataRanksAlone) {
    const auto refused = [](void (*change)(Plan&)) {
        Plan plan = recurrent("transformer-xl-base", 4);
        change(plan);
        try {
            validate(plan);
        } catch (const Error& error) {
            return error.pointer();
        }
        return std::string("accepted");
    };
    EXPECT_EQ(refused([](Plan& p) { p.strategy.tensor = 2; }), "/strategy/tensor");
    EXPECT_EQ(refused([](Plan& p) { p.strategy.pipeline = 2; }), "/strategy/pipeline");
    EXPECT_EQ(refused([](Plan& p) { p.strategy.recompute = Recompute::full; }), "/strategy/recompute");
    EXPECT_EQ(refused([](Plan& p) { p.strategy.sharding = Sharding::zero3; }), "/strategy/sharding");
    EXPECT_EQ(refused([](Plan& p) { p.training.fused_attention = true; }), "/training/fused_attention");
    EXPECT_EQ(refused([](Plan& p) { p.training.precision.compute = kernels::Dtype::fp8; }), "/training/precision");
    EXPECT_EQ(refused([](Plan& p) {
                  p.strategy.data = 2;
                  p.training.global_batch = 8;
              }),
              "accepted");
}

}  // namespace
}  // namespace orrery::strategies
