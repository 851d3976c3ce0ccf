// A classifier divided among data ranks: its work is as much as before, what it holds and sums is a part.
#include <gtest/gtest.h>

#include <variant>

#include "models/catalog.hpp"
#include "strategies/build.hpp"
#include "strategies/stage.hpp"
#include "tests/strategies/tiny_plan.hpp"

namespace orrery::strategies {
namespace {

constexpr std::uint64_t features = 2048, classes = 100'000, examples = 32;

Plan wide(std::uint32_t data, std::uint32_t split) {
    Plan plan = tiny_plan(1, 1, data);
    plan.model = models::find("resnet-50-100k");
    plan.training.seq = 1;
    plan.training.micro_batch = examples;
    plan.training.global_batch = examples * data;
    plan.strategy.split_classes = split;
    return plan;
}

Stage stage_of(const Plan& plan) {
    StepProgram step;
    Intern intern(step);
    return place_layers(add_model_blocks(step, intern, plan), plan, 0);
}

/// Bytes of a kind of collective in a group, in layers and behind them.
std::uint64_t moved(const StepProgram& step, kernels::CollectiveKind kind, AxisSet group) {
    std::uint64_t sum = 0;
    const auto add = [&](const Program& program, auto& self) -> void {
        for (const Op& op : program.ops) {
            if (const auto* call = std::get_if<Call>(&op.what)) self(step.blocks[call->block], self);
            const auto* collective = std::get_if<Collective>(&op.what);
            if (collective != nullptr && collective->kind == kind && collective->group == group)
                sum += collective->bytes;
        }
    };
    add(step.programs[0], add);
    return sum;
}

TEST(ClassSplit, DividesParametersAndKeepsTheWork) {
    const Plan whole = wide(8, 1), split = wide(8, 8);
    validate(split);
    const Stage all = stage_of(whole), part = stage_of(split);
    const std::uint64_t classifier = classes * (features + 1);
    EXPECT_EQ(part.counts.experts, classifier / 8);
    EXPECT_EQ(all.counts.trained - part.counts.trained, classifier / 8 * 7);
    const StepProgram step = build(split);
    EXPECT_TRUE(verify(step).empty());
    EXPECT_NEAR(kernel_flops(step) / kernel_flops(build(whole)), 1, 1e-12) << "eight times the examples, an eighth";
}

/// Whale's other end: 100 million classes, 205 billion parameters, on 1,024 ranks.
TEST(ClassSplit, HoldsAHundredMillionClasses) {
    constexpr std::uint64_t most = 100'000'000, ranks = 1024;
    Plan split = wide(ranks, ranks);
    split.model.vocab = most;
    validate(split);
    EXPECT_EQ(stage_of(split).counts.experts, (most + ranks - 1) / ranks * (features + 1));
    EXPECT_TRUE(verify(build(split)).empty());
}

TEST(ClassSplit, ExchangesFeaturesInsteadOfGradients) {
    using kernels::CollectiveKind;
    const StepProgram whole = build(wide(8, 1)), step = build(wide(8, 8));
    const AxisSet group{Axis::expert};
    const std::uint64_t gathered = 8 * examples * features * 2, numbers = 8 * examples * 4;
    EXPECT_EQ(moved(step, CollectiveKind::all_gather, group), gathered + numbers);
    EXPECT_EQ(moved(step, CollectiveKind::reduce_scatter, group), gathered);
    const std::uint64_t size = kernels::size_of(tiny_plan(1, 1, 1).training.precision.grad_reduce);
    const AxisSet data{Axis::data}, both = data | group;
    EXPECT_GE(moved(whole, CollectiveKind::all_reduce, data), classes * (features + 1) * size);
    EXPECT_LT(moved(step, CollectiveKind::all_reduce, both), 25'000'000 * size) << "the backbone alone";
    EXPECT_EQ(moved(step, CollectiveKind::all_reduce, data), 0U) << "nobody else has a rank's classes";
}

/// Two groups of four: each holds all classes, and sums their gradients with the other.
TEST(ClassSplit, GroupsSumTheirPartsWithEachOther) {
    const Plan plan = wide(8, 4);
    validate(plan);
    const StepProgram step = build(plan);
    EXPECT_TRUE(verify(step).empty());
    EXPECT_GE(moved(step, kernels::CollectiveKind::all_reduce, AxisSet{Axis::data}),
              classes / 4 * features * kernels::size_of(plan.training.precision.grad_reduce));
}

TEST(ClassSplit, IsRefusedWhereNothingCanBeDivided) {
    EXPECT_EQ(refused_at(wide(8, 3)), "/strategy/split_classes");
    EXPECT_EQ(refused_at(wide(8, 16)), "/strategy/split_classes");
    Plan gpt = tiny_plan(1, 1, 2);
    gpt.strategy.split_classes = 2;
    EXPECT_EQ(refused_at(gpt), "/strategy/split_classes");
    Plan signs = wide(8, 2);
    signs.training.precision.compute = kernels::Dtype::bf16;
    signs.strategy.compression = Compression::onebit_adam;
    EXPECT_EQ(refused_at(signs), "/strategy/compression") << "a rank's classes are no other rank's";
    signs.strategy.split_classes = 1;
    EXPECT_EQ(refused_at(signs), "accepted");
    Plan quantized = wide(8, 8);
    quantized.strategy.sharding = Sharding::zero3;
    quantized.strategy.quantized_weights = true;
    EXPECT_EQ(refused_at(quantized), "/strategy/split_classes");
    Plan few = wide(8, 8);
    few.model.vocab = 4;
    EXPECT_EQ(refused_at(few), "/strategy/split_classes");
}

}  // namespace
}  // namespace orrery::strategies
