// State-space mixers on tensor and context ranks.
#include <gtest/gtest.h>

#include <algorithm>
#include <variant>

#include "models/catalog.hpp"
#include "models/operators.hpp"
#include "strategies/build.hpp"
#include "strategies/stage.hpp"
#include "tests/strategies/tiny_plan.hpp"

namespace orrery::strategies {
namespace {

Plan nemotron(std::uint32_t tensor = 1, std::uint32_t context = 1) {
    Plan plan = tiny_plan(tensor, 1, 1);
    plan.model = models::find("nemotron-h-8b");
    plan.strategy.context = context;
    plan.strategy.sequence_parallel = tensor > 1;
    plan.training.fused_attention = true;
    plan.training.seq = 4096;
    plan.training.micro_batch = 1;
    plan.training.global_batch = 1;
    return plan;
}

std::vector<kernels::StateSpace> scans(const StepProgram& step, std::string_view block) {
    std::vector<kernels::StateSpace> list;
    for (const Op& op : std::ranges::find(step.blocks, block, &Program::name)->ops)
        if (const auto* compute = std::get_if<Compute>(&op.what))
            if (const auto* scan = std::get_if<kernels::StateSpace>(&step.kernels[compute->kernel]))
                list.push_back(*scan);
    return list;
}

std::uint64_t parameters(const Plan& plan, std::string_view layer) {
    StepProgram step;
    Intern intern(step);
    return add_model_blocks(step, intern, plan).of(layer).plain.counts.trained;
}

TEST(Mamba, TensorRanksHaveHeadsAndGroupsOfTheirOwn) {
    const Plan plan = nemotron(4);
    validate(plan);
    const StepProgram step = build(plan);
    EXPECT_TRUE(verify(step).empty());
    const auto forward = scans(step, "mamba layer forward");
    ASSERT_EQ(forward.size(), 6U);
    for (const kernels::StateSpace& kernel : forward) {
        EXPECT_EQ(kernel.heads, 32U);
        EXPECT_EQ(kernel.groups, 2U);
        EXPECT_EQ(kernel.seq, 4096U);
    }
    EXPECT_EQ(forward.front().kind, kernels::StateSpaceKind::convolution);
    EXPECT_EQ(forward.front().chunk, 4U);
    EXPECT_EQ(forward.back().chunk, 128U);
    // All but the layer's norm, which every rank holds, is divided.
    const std::uint64_t whole = parameters(nemotron(), "mamba layer");
    EXPECT_EQ(parameters(plan, "mamba layer"), (whole - 4096) / 4 + 4096);
    EXPECT_EQ(whole, models::parameters(models::build(plan.model).layer("mamba layer")));
}

TEST(Mamba, TheBackwardConvolvesAndFormsStatesAgain) {
    const auto backward = scans(build(nemotron()), "mamba layer backward");
    const auto times = [&](kernels::StateSpaceKind kind) {
        return std::ranges::count(backward, kind, &kernels::StateSpace::kind);
    };
    EXPECT_EQ(times(kernels::StateSpaceKind::convolution), 1);
    EXPECT_EQ(times(kernels::StateSpaceKind::chunk_states), 1);
    EXPECT_EQ(times(kernels::StateSpaceKind::product_backward), 2);
    EXPECT_EQ(times(kernels::StateSpaceKind::chunk_scan), 0);
}

TEST(Mamba, ContextRanksExchangeTokensForHeads) {
    Plan plan = nemotron(2, 8);
    validate(plan);
    const StepProgram step = build(plan);
    EXPECT_TRUE(verify(step).empty());
    const kernels::StateSpace scan = scans(step, "mamba layer forward").back();
    EXPECT_EQ(scan.seq, 4096U);
    EXPECT_EQ(scan.heads, 8U);
    EXPECT_EQ(scan.groups, 1U) << "4 groups of a tensor rank are repeated";
    std::vector<std::uint64_t> bytes;
    for (const Op& op : std::ranges::find(step.blocks, "mamba layer forward", &Program::name)->ops)
        if (const auto* c = std::get_if<Collective>(&op.what))
            if (c->kind == kernels::CollectiveKind::all_to_all) bytes.push_back(c->bytes);
    const std::uint64_t tokens = 4096 / 8, inner = 8192 / 2, beside = 2 * 8 * 128 / 2 + 128 / 2;
    EXPECT_EQ(bytes, (std::vector<std::uint64_t>{tokens * (2 * inner + beside) * 2, tokens * inner * 2}));
}

TEST(Mamba, KeepsWhatTheFirstProductLeftAndTheScansResults) {
    StepProgram step;
    Intern intern(step);
    const ModelBlocks blocks = add_model_blocks(step, intern, nemotron());
    const std::uint64_t inner = 8192, projected = 2 * inner + 2 * 8 * 128 + 128;
    // The norm's input, the first product's, what it left, the scan's results, the group norm's input, the last's.
    EXPECT_EQ(blocks.of("mamba layer").plain.saved_bytes, 4096 * 2 * (4096 + 4096 + projected + 3 * inner));
}

TEST(Mamba, LatentExpertsExchangeNarrowTokens) {
    Plan plan = tiny_plan(1, 1, 8);
    plan.model = models::find("nemotron-3-super");
    plan.strategy.expert = 8;
    plan.training.seq = 4096;
    plan.training.fused_attention = true;
    plan.training.micro_batch = 1;
    plan.training.global_batch = 8;
    validate(plan);
    const StepProgram step = build(plan);
    EXPECT_TRUE(verify(step).empty());
    for (const Op& op : std::ranges::find(step.blocks, "moe layer forward", &Program::name)->ops)
        if (const auto* c = std::get_if<Collective>(&op.what)) {
            EXPECT_EQ(c->bytes, 4096ULL * 22 * 1024 * 2);
        }
    EXPECT_EQ(parameters(plan, "moe layer"),
              4096 + 2 * 4096 * 5376 + 512ULL * 4096 + 2ULL * 4096 * 1024 + 512ULL / 8 * 2 * 1024 * 2688);
}

TEST(Mamba, WhatIsNotSupportedIsRefusedByKey) {
    Plan plan = nemotron(8);
    EXPECT_EQ(refused_at(plan), "accepted");
    plan.model.mamba.groups = 4;
    EXPECT_EQ(refused_at(plan), "/strategy/tensor");
    plan = nemotron(1, 32);
    EXPECT_EQ(refused_at(plan), "accepted");
    plan.model.mamba.heads = 120;
    EXPECT_EQ(refused_at(plan), "/strategy/context");
    plan = nemotron();
    plan.training.lora_rank = 16;
    EXPECT_EQ(refused_at(plan), "/training/lora_rank");
}

}  // namespace
}  // namespace orrery::strategies
