// An encoder and a decoder train as a plain implementation does, on meshes of each kind.
#include <gtest/gtest.h>

#include <algorithm>

#include "models/relative_positions.hpp"
#include "strategies/build.hpp"
#include "tests/run/agreement.hpp"
#include "tests/run/small_models.hpp"

namespace orrery::run {
namespace {

using strategies::Plan;
using strategies::Recompute;
using strategies::Sharding;

void in_shares(Plan& plan, Sharding sharding) {
    plan.strategy.data = 2;
    plan.strategy.sharding = sharding;
}

void split_sequences(Plan& plan) {
    plan.strategy.tensor = 2;
    plan.strategy.sequence_parallel = true;
}

const Case meshes[]{
    {"OneRank", [](Plan&) {}},
    {"UnfusedAccumulation", [](Plan& p) { p.training.gradient_accumulation_fusion = false; }},
    {"AllAtOnce", [](Plan& p) { p.strategy.schedule = strategies::ScheduleKind::gpipe; }},
    {"SelectiveRecompute", [](Plan& p) { p.strategy.recompute = Recompute::selective; }},
    {"FullRecompute", [](Plan& p) { p.strategy.recompute = Recompute::full; }},
    {"FullRecomputeOfThreeLayers",
     [](Plan& p) {
         p.strategy.recompute = Recompute::full;
         p.strategy.recompute_num_layers = 3;
     }},
    {"Tensor2", [](Plan& p) { p.strategy.tensor = 2; }},
    {"Tensor4Synchronous",
     [](Plan& p) {
         p.strategy.tensor = 4;
         p.strategy.async_tensor_allreduce = false;
     }},
    {"Sequence2", [](Plan& p) { split_sequences(p); }},
    {"Sequence2SelectiveRecompute",
     [](Plan& p) {
         split_sequences(p);
         p.strategy.recompute = Recompute::selective;
     }},
    {"Data2", [](Plan& p) { in_shares(p, Sharding::none); }},
    {"Zero1", [](Plan& p) { in_shares(p, Sharding::zero1); }},
    {"Zero2", [](Plan& p) { in_shares(p, Sharding::zero2); }},
    {"Zero3", [](Plan& p) { in_shares(p, Sharding::zero3); }},
    {"Zero3Sequence2FullRecompute",
     [](Plan& p) {
         in_shares(p, Sharding::zero3);
         split_sequences(p);
         p.strategy.recompute = Recompute::full;
     }},
    {"Everything",
     [](Plan& p) {
         in_shares(p, Sharding::zero1);
         split_sequences(p);
         p.strategy.recompute = Recompute::full;
         p.strategy.overlap_grad_reduce = true;
         p.strategy.bucket_bytes = 6000;
     }},
};

models::ModelSpec untied() {
    models::ModelSpec spec = small_t5();
    spec.name = "t5 1.1: a gated MLP and logits of its own; three layers decode";
    spec.tied_embeddings = false;
    spec.decoder_layers = 3;
    spec.gated = true;
    spec.activation = models::ActivationKind::gelu;
    return spec;
}

class EncoderDecoders : public testing::TestWithParam<models::ModelSpec> {};

TEST_P(EncoderDecoders, TrainAsTheReference) {
    for (const Case& mesh : meshes) {
        SCOPED_TRACE(mesh.name);
        Plan plan = plan_of(GetParam());
        mesh.change(plan);
        expect_losses(train(plan, fast(), steps), reference_of(plan.model), single_error);
        expect_gradient_elements(train(plan, fast(), 1), reference_of(plan.model).front(), plan.training.grad_clip,
                                 single_error);
    }
}

TEST_P(EncoderDecoders, HaveACompleteFlow) {
    for (const Case& mesh : meshes) {
        SCOPED_TRACE(mesh.name);
        Plan plan = plan_of(GetParam());
        mesh.change(plan);
        const strategies::StepProgram step = program_of(plan);
        for (const strategies::LayerFlow& flow : step.flows) EXPECT_TRUE(flow.complete);
        EXPECT_EQ(strategies::verify(step), std::vector<std::string>{});
    }
}

/// A layer that decodes has three branches, and sums of its roundings meet in the encoder: twice as far as a GPT's. Of
/// a ReLU, whose slope jumps where a rounded number changes its sign, losses alone.
TEST_P(EncoderDecoders, TrainInSixteenBits) {
    constexpr double further = 2;
    for (const Case& mesh : {meshes[0], meshes[4], meshes[8]}) {
        SCOPED_TRACE(mesh.name);
        Plan plan = plan_of(GetParam());
        mesh.change(plan);
        plan.training.precision = {kernels::Dtype::bf16, kernels::Dtype::fp32};
        const Trained trained = train(plan, fast(), steps);
        expect_losses(trained, reference_of(plan.model), further * half_loss_error(steps));
        if (plan.model.activation == models::ActivationKind::relu) continue;
        expect_gradient_norms(train(plan, fast(), 1), reference_of(plan.model).front(), plan.training.grad_clip,
                              further * half_gradient_error());
    }
}

std::string name_of(const testing::TestParamInfo<models::ModelSpec>& one) {
    constexpr std::array<const char*, 3> names{"Distances", "LearnedPositions", "UntiedLogits"};
    return names.at(one.index);
}

INSTANTIATE_TEST_SUITE_P(Models, EncoderDecoders, testing::Values(small_t5(), small_megatron_t5(), untied()), name_of);

/// The encoder's output is one tensor for all layers that decode.
TEST(EncoderDecoder, KeepsTheEncodersOutputOnce) {
    const auto activations = [](std::uint32_t decoded) {
        models::ModelSpec spec = small_megatron_t5();
        spec.decoder_layers = decoded;
        Plan plan = plan_of(spec);
        plan.strategy.recompute = Recompute::full;
        return train(plan, fast(), 1).memory.front().activations;
    };
    // Under full recomputation a layer keeps its own input of 2 sequences of 6 tokens; arenas may leave holes.
    const std::uint64_t input = 2ULL * 6 * 16 * sizeof(float);
    EXPECT_LE(activations(6) - activations(2), 4 * input + input);
}

/// Of 32 buckets, as Hugging Face's T5 computes them.
TEST(RelativeBuckets, AreThoseOfT5) {
    using models::relative_bucket;
    EXPECT_EQ(relative_bucket(0, 32, true), 0U);
    EXPECT_EQ(relative_bucket(-7, 32, true), 7U);
    EXPECT_EQ(relative_bucket(-8, 32, true), 8U);
    EXPECT_EQ(relative_bucket(-11, 32, true), 8U);
    EXPECT_EQ(relative_bucket(-12, 32, true), 9U);
    EXPECT_EQ(relative_bucket(-127, 32, true), 15U);
    EXPECT_EQ(relative_bucket(-100000, 32, true), 15U);
    EXPECT_EQ(relative_bucket(1, 32, true), 17U);
    EXPECT_EQ(relative_bucket(100000, 32, true), 31U);
    EXPECT_EQ(relative_bucket(1, 32, false), 0U);
    EXPECT_EQ(relative_bucket(-15, 32, false), 15U);
    EXPECT_EQ(relative_bucket(-18, 32, false), 16U);
    EXPECT_EQ(relative_bucket(-19, 32, false), 17U);
    EXPECT_EQ(relative_bucket(-128, 32, false), 31U);
    EXPECT_EQ(relative_bucket(-64, 254, false), 64U);
    EXPECT_EQ(relative_bucket(-3, 4, true), 1U);
}

}  // namespace
}  // namespace orrery::run
