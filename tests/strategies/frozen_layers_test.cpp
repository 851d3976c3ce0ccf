// Layers that are not trained.
#include <gtest/gtest.h>

#include "models/operators.hpp"
#include "strategies/build.hpp"
#include "strategies/memory.hpp"
#include "strategies/schedule/schedule.hpp"
#include "strategies/stage.hpp"
#include "tests/strategies/tiny_plan.hpp"

namespace orrery::strategies {
namespace {

Plan frozen(std::uint32_t layers, std::uint32_t pipeline = 1, std::uint32_t data = 2) {
    Plan plan = tiny_plan(1, pipeline, data);
    plan.model = tiny_llama();
    plan.training.frozen_layers = layers;
    return plan;
}

std::uint64_t bytes_of(const Plan& plan, Keep keep) {
    std::uint64_t sum = 0;
    const StepProgram step = build(plan);
    for (const Buffer& buffer : step.programs.front().buffers)
        if (buffer.keep == keep) sum += buffer.bytes;
    return sum;
}

/// Their forward alone is left: two thirds of each one's products.
TEST(FrozenLayers, HaveNoBackward) {
    const double whole = kernel_flops(build(frozen(0)));
    const models::Model model = models::build(tiny_llama());
    const auto flops = [](const Plan& plan) {
        return models::model_flops(model_of(plan), plan.training.global_batch, plan.training.seq);
    };
    const double each = (flops(frozen(1)) - flops(frozen(2))) / 2;  // backwards of a layer
    EXPECT_GT(each, 0);
    EXPECT_NEAR(flops(frozen(0)) - flops(frozen(4)), 4 * 2 * each, 1e-6 * whole);
    const auto products = [&](std::uint32_t layers) { return kernel_flops(build(frozen(layers))); };
    EXPECT_NEAR((products(1) - products(3)) / (products(2) - products(3)), 2, 1e-9);
    EXPECT_LT(products(1), whole);
}

TEST(FrozenLayers, KeepNothingAndHaveNoStates) {
    const std::uint64_t layer = models::parameters(models::build(tiny_llama()).layer("block"));
    for (const std::uint32_t layers : {1U, 3U}) {
        const Plan fewer = frozen(layers, 1, 1), more = frozen(layers + 1, 1, 1);
        EXPECT_EQ(bytes_of(fewer, Keep::weight), bytes_of(more, Keep::weight));
        EXPECT_EQ(bytes_of(fewer, Keep::optimizer) - bytes_of(more, Keep::optimizer), 12 * layer);
        EXPECT_LT(bytes_of(more, Keep::gradient), bytes_of(fewer, Keep::gradient));
        EXPECT_LT(bytes_of(more, Keep::activation), bytes_of(fewer, Keep::activation));
    }
}

/// Recomputation is about layers that have a backward.
TEST(FrozenLayers, AreNotRunAgain) {
    Plan plan = frozen(4), again = plan;
    again.strategy.recompute = Recompute::full;
    EXPECT_DOUBLE_EQ(kernel_flops(build(plan)), kernel_flops(build(again)));
}

/// FSDP gathers weights for a forward, and no pre-backward hook fires for what has none.
TEST(FrozenLayers, AreGatheredForTheirForwardAlone) {
    const auto gathers = [](std::uint32_t layers) {
        Plan plan = frozen(layers);
        plan.strategy.sharding = Sharding::zero3;
        const StepProgram step = build(plan);
        int count = 0;
        for (const Op& op : step.programs.front().ops)
            if (std::holds_alternative<Collective>(op.what) && step.names[op.label.name] == "gather weights") ++count;
        return count;
    };
    const int micro_batches = 4;
    EXPECT_EQ(gathers(0), 2 * 6 * micro_batches) << "embedding, four layers and head, twice";
    EXPECT_EQ(gathers(3), (6 + 2) * micro_batches);
}

TEST(FrozenLayers, ProgramsAreSoundUnderEverySchedule) {
    for (const Schedule& schedule : schedules)
        for (const ShardingRow& row : shardings) {
            if (schedule.asynchronous && row.kind != Sharding::none) continue;
            if (schedule.order == ChunkOrder::opposes && row.kind > Sharding::zero1) continue;
            Plan plan = frozen(1, 2);
            plan.model.layers = 8;
            plan.strategy.schedule = schedule.kind;
            plan.strategy.virtual_pipeline = schedule.chunked ? 2 : 1;
            plan.strategy.sharding = row.kind;
            validate(plan);
            EXPECT_TRUE(verify(build(plan)).empty()) << schedule.name << ' ' << row.name;
        }
}

TEST(FrozenLayers, SayWhereTheyDoNotGo) {
    constexpr const char* key = "/training/frozen_layers";
    EXPECT_EQ(refused_at(frozen(4)), "accepted");
    EXPECT_EQ(refused_at(frozen(5)), key);
    EXPECT_EQ(refused_at(frozen(1, 2)), "accepted");
    EXPECT_EQ(refused_at(frozen(2, 2)), key) << "the first stage has two layers";
    Plan tied = frozen(1);
    tied.model = tiny_gpt();
    EXPECT_EQ(refused_at(tied), key);
    Plan adapted = frozen(1);
    adapted.training.lora_rank = 4;
    EXPECT_EQ(refused_at(adapted), key);
}

}  // namespace
}  // namespace orrery::strategies
