// Transformers over patches of images, alone and beside a text's: their programs compute what their graphs count.
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

/// Unfused attention multiplies full squares, as MFU counts them.
Plan vit(std::uint32_t tensor = 1, std::uint32_t pipeline = 1, std::uint32_t data = 1) {
    Plan plan = tiny_plan(tensor, pipeline, data);
    plan.model = models::find("vit-b16");
    plan.training.seq = 197;
    plan.training.fused_attention = false;
    plan.training.micro_batch = 4;
    plan.training.global_batch = 16 * data;
    return plan;
}

Plan clip(std::uint32_t tensor = 1, std::uint32_t data = 1) {
    Plan plan = vit(tensor, 1, data);
    plan.model = models::find("clip-vit-b32");
    plan.training.seq = 50;
    plan.training.decoder_seq = 77;
    plan.training.global_batch = 4 * data;
    return plan;
}

/// Patches, classes and what is compared are computed by every tensor rank; nobody takes the gradient of images.
TEST(Vit, ComputesThreeForwardPassesButForTheGradientOfItsImages) {
    for (const auto& [tensor, pipeline] : {std::pair{1U, 1U}, {2U, 1U}, {4U, 3U}, {1U, 12U}}) {
        const Plan plan = vit(tensor, pipeline);
        validate(plan);
        const StepProgram step = build(plan);
        EXPECT_TRUE(verify(step).empty());
        const double patches = 2.0 * 16 * 196 * 768 * 768, classes = 2.0 * 16 * 768 * 1000;
        const double model = models::model_flops(models::build(plan.model), 16, 197) - patches;
        const double again = (tensor - 1) * (2 * patches + 3 * classes);
        EXPECT_NEAR(kernel_flops(step) * tensor / (model + again), 1, 1e-12) << tensor << ' ' << pipeline;
    }
}

TEST(Vit, HoldsEveryParameter) {
    StepProgram step;
    Intern intern(step);
    EXPECT_EQ(place_layers(add_model_blocks(step, intern, vit()), vit(), 0).counts.trained, 86'567'656U);
    // Of a block half of the products' weights and of the first biases; the rest on both ranks.
    const Plan halved = vit(2);
    const Stage stage = place_layers(add_model_blocks(step, intern, halved), halved, 0);
    const std::uint64_t d = 768, split = 12 * (12 * d * d + 3 * d + 4 * d);
    EXPECT_EQ(stage.counts.trained, 86'567'656U - split / 2);
    EXPECT_EQ(stage.counts.replicated, 86'567'656U - split);
}

TEST(Vit, EveryWayOfDividingItIsSound) {
    const auto sound = [](const Plan& plan) {
        validate(plan);
        const auto problems = verify(build(plan));
        EXPECT_TRUE(problems.empty()) << testing::PrintToString(problems);
    };
    for (const Sharding sharding : {Sharding::zero1, Sharding::zero2, Sharding::zero3}) {
        Plan plan = vit(2, 1, 4);
        plan.strategy.sharding = sharding;
        sound(plan);
    }
    for (const Recompute recompute : {Recompute::selective, Recompute::full}) {
        Plan plan = vit(2, 2, 2);
        plan.strategy.recompute = recompute;
        sound(plan);
    }
    Plan plan = vit(1, 4);
    plan.strategy.schedule = ScheduleKind::zb_h1;
    sound(plan);
    plan = vit(1, 2);
    plan.strategy.cpu_offloading_num_layers = 3;
    sound(plan);
}

/// A micro-batch's patches and the first layer's input; logits of one token an image.
TEST(Vit, KeepsPatchesAndTheLogitsOfOneToken) {
    StepProgram step;
    Intern intern(step);
    const ModelBlocks blocks = add_model_blocks(step, intern, vit());
    EXPECT_EQ(blocks.of("patch embedding").plain.saved_bytes, 4U * 3 * 224 * 224 * 2);
    EXPECT_EQ(blocks.of("class token").plain.saved_bytes, 4U * 197 * 768 * 2);
    EXPECT_EQ(blocks.of("classifier").plain.saved_bytes, 4U * 768 * 2 + 4U * 1000 * 4);
}

TEST(Vit, WhatDividesTokensIsRefusedByKey) {
    const auto pointer_of = [](auto change) {
        Plan plan = vit(2, 1, 2);
        change(plan);
        return refused_at(plan);
    };
    EXPECT_EQ(pointer_of([](Plan&) {}), "accepted");
    EXPECT_EQ(pointer_of([](Plan& p) { p.strategy.sequence_parallel = true; }), "/strategy/sequence_parallel");
    EXPECT_EQ(pointer_of([](Plan& p) { p.strategy.context = 2; }), "/strategy/context");
    EXPECT_EQ(pointer_of([](Plan& p) { p.training.seq = 196; }), "/training/seq_length");
    EXPECT_EQ(pointer_of([](Plan& p) { p.training.broadcast_data = true; }), "/training/broadcast_data");
    EXPECT_EQ(pointer_of([](Plan& p) { p.training.cross_entropy_fusion = false; }),
              "/training/cross_entropy_loss_fusion");
    EXPECT_EQ(pointer_of([](Plan& p) { p.training.lora_rank = 8; }), "/training/lora_rank");
    EXPECT_EQ(pointer_of([](Plan& p) { p.training.decoder_seq = 77; }), "/training/decoder_seq");
    EXPECT_EQ(pointer_of([](Plan& p) { p.strategy.tensor = 8; }), "/strategy/tensor") << "12 heads";
}

const Program& block(const StepProgram& step, std::string_view name) {
    return *std::ranges::find(step.blocks, name, &Program::name);
}

std::vector<Collective> collectives_of(const Program& program) {
    std::vector<Collective> list;
    for (const Op& op : program.ops)
        if (const auto* collective = std::get_if<Collective>(&op.what)) list.push_back(*collective);
    return list;
}

/// Both towers, and the products of each rank's vectors with all: forward two, backward four.
TEST(Clip, ComputesBothTowersAndItsShareOfTheComparison) {
    for (const std::uint32_t data : {1U, 8U}) {
        const Plan plan = clip(1, data);
        validate(plan);
        const StepProgram step = build(plan);
        EXPECT_TRUE(verify(step).empty());
        const double patches = 2.0 * 4 * 49 * 3072 * 768, compared = 6 * 2.0 * 4 * (4.0 * data) * 512;
        const double model = models::model_flops(models::build(plan.model), 4, 50, 77) - patches + compared;
        EXPECT_NEAR(kernel_flops(step) / model, 1, 1e-12) << data;
    }
}

/// Vectors of both kinds from all data ranks, and their gradients home.
TEST(Clip, VectorsAreGatheredAmongDataRanks) {
    const StepProgram step = build(clip(2, 8));
    const std::uint64_t bytes = 4 * 8 * 512 * 2;
    const std::vector<Collective> there = collectives_of(block(step, "comparison forward")),
                                  back = collectives_of(block(step, "comparison backward"));
    ASSERT_EQ(there.size(), 2U);
    ASSERT_EQ(back.size(), 2U);
    for (std::size_t i = 0; i < 2; ++i) {
        EXPECT_EQ(there[i].kind, kernels::CollectiveKind::all_gather);
        EXPECT_EQ(back[i].kind, kernels::CollectiveKind::reduce_scatter);
        EXPECT_EQ(there[i].bytes, bytes);
        EXPECT_EQ(back[i].bytes, bytes);
        EXPECT_EQ(there[i].group, AxisSet{Axis::data});
    }
    EXPECT_TRUE(collectives_of(block(build(clip()), "comparison forward")).empty());
}

TEST(Clip, HoldsEveryParameter) {
    StepProgram step;
    Intern intern(step);
    const Plan plan = clip();
    EXPECT_EQ(place_layers(add_model_blocks(step, intern, plan), plan, 0).counts.trained, 151'277'313U);
}

/// The texts' tower has its own width and heads on every tensor rank.
TEST(Clip, TensorRanksDivideBothTowers) {
    const StepProgram step = build(clip(4, 2));
    EXPECT_TRUE(verify(step).empty());
    std::vector<kernels::Kernel> list;
    for (const Op& op : block(step, "text block forward").ops)
        if (const auto* compute = std::get_if<Compute>(&op.what)) list.push_back(step.kernels[compute->kernel]);
    const kernels::Gemm qkv{kernels::Dtype::bf16, 1, 4 * 77, 3 * 512 / 4, 512};
    EXPECT_TRUE(std::ranges::find(list, kernels::Kernel(qkv)) != list.end());
}

TEST(Clip, WhatIsNotSupportedIsRefusedByKey) {
    const auto pointer_of = [](auto change) {
        Plan plan = clip(2, 2);
        change(plan);
        return refused_at(plan);
    };
    EXPECT_EQ(pointer_of([](Plan&) {}), "accepted");
    EXPECT_EQ(pointer_of([](Plan& p) { p.strategy.sharding = Sharding::zero3; }), "accepted");
    EXPECT_EQ(pointer_of([](Plan& p) { p.strategy.recompute = Recompute::full; }), "accepted");
    EXPECT_EQ(pointer_of([](Plan& p) { p.strategy.pipeline = 2; }), "/strategy/pipeline");
    EXPECT_EQ(pointer_of([](Plan& p) { p.training.global_batch = 16; }), "/training/global_batch_size");
    EXPECT_EQ(pointer_of([](Plan& p) { p.training.decoder_seq = 78; }), "/training/decoder_seq");
    EXPECT_EQ(pointer_of([](Plan& p) { p.training.decoder_seq = 0; }), "/training/decoder_seq");
    EXPECT_EQ(pointer_of([](Plan& p) { p.training.lora_rank = 8; }), "/training/lora_rank");
    EXPECT_EQ(pointer_of([](Plan& p) { p.strategy.cpu_offloading_num_layers = 1; }),
              "/strategy/cpu_offloading_num_layers");
    EXPECT_EQ(pointer_of([](Plan& p) { p.strategy.tensor = 8, p.model.heads = p.model.kv_heads = 8; }), "/model/name");
    EXPECT_EQ(pointer_of([](Plan& p) { p.strategy.context = 2; }), "/strategy/context");
}

}  // namespace
}  // namespace orrery::strategies
