// Models with dropouts train as a plain implementation does that draws the same masks, whatever the mesh.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "run/dropouts.hpp"
#include "strategies/build.hpp"
#include "tests/run/agreement.hpp"
#include "tests/run/every_mesh.hpp"
#include "tests/run/layer_models.hpp"
#include "tests/run/small_models.hpp"

namespace orrery::run {
namespace {

using strategies::Plan;
using strategies::Recompute;
using strategies::ScheduleKind;
using strategies::Sharding;

models::ModelSpec dropping(models::ModelSpec spec, double rate = 0.2) {
    spec.dropout = rate;
    spec.name += ", dropout";
    return spec;
}

const Case dropout_meshes[]{
    {"OneRank", [](Plan&) {}},
    {"OneMicroBatch", [](Plan& p) { p.training.micro_batch = 8; }},
    {"MoreMicroBatches", [](Plan& p) { p.training.micro_batch = 1; }},
    {"SelectiveRecompute", [](Plan& p) { p.strategy.recompute = Recompute::selective; }},
    {"FullRecompute", [](Plan& p) { p.strategy.recompute = Recompute::full; }},
    {"FullRecomputeOfOneLayer",
     [](Plan& p) {
         p.strategy.recompute = Recompute::full;
         p.strategy.recompute_num_layers = 1;
     }},
    {"Offload", [](Plan& p) { p.strategy.cpu_offloading_num_layers = 3; }},
    {"Data2", [](Plan& p) { p.strategy.data = 2; }},
    {"UnequalData2",
     [](Plan& p) {
         p.strategy.data = 2;
         p.strategy.replica_micro_batches = "1,3";
     }},
    {"Zero3",
     [](Plan& p) {
         p.strategy.data = 2;
         p.strategy.sharding = Sharding::zero3;
     }},
    {"Tensor2", [](Plan& p) { p.strategy.tensor = 2; }},
    {"Sequence2",
     [](Plan& p) {
         p.strategy.tensor = 2;
         p.strategy.sequence_parallel = true;
     }},
    {"Sequence2FullRecompute",
     [](Plan& p) {
         p.strategy.tensor = 2;
         p.strategy.sequence_parallel = true;
         p.strategy.recompute = Recompute::full;
     }},
    {"Pipeline2", [](Plan& p) { p.strategy.pipeline = 2; }},
    {"Interleaved",
     [](Plan& p) {
         p.strategy.pipeline = p.strategy.virtual_pipeline = 2;
         p.strategy.schedule = ScheduleKind::interleaved;
         p.training.micro_batch = 1;
     }},
    {"ZeroBubble",
     [](Plan& p) {
         p.strategy.pipeline = 2;
         p.strategy.schedule = ScheduleKind::zb_h1;
     }},
    {"Everything",
     [](Plan& p) {
         p.strategy.tensor = p.strategy.pipeline = p.strategy.data = 2;
         p.strategy.sequence_parallel = true;
         p.strategy.recompute = Recompute::full;
         p.training.micro_batch = 1;
     }},
};

class Dropouts : public testing::TestWithParam<Case> {};

TEST_P(Dropouts, TrainAsTheReference) {
    for (const models::ModelSpec& spec : {dropping(small_gpt()), dropping(small_llama())}) {
        SCOPED_TRACE(spec.name);
        Plan plan = plan_of(spec);
        GetParam().change(plan);
        expect_losses(train(plan, fast(), steps), reference_of(spec), single_error);
        expect_gradient_elements(train(plan, fast(), 1), reference_of(spec).front(), plan.training.grad_clip,
                                 single_error);
    }
}

TEST_P(Dropouts, TrainInSixteenBits) {
    const auto each = [](const models::ModelSpec& spec, kernels::Dtype half, bool fused) {
        SCOPED_TRACE(spec.name);
        Plan plan = plan_of(spec);
        plan.training.fused_attention = fused;
        GetParam().change(plan);
        plan.training.precision = {half, kernels::Dtype::fp32};
        plan.training.loss_scaling.initial = 1024;
        expect_losses(train(plan, fast(), steps), reference_of(spec), half_loss_error(steps));
        expect_gradient_norms(train(plan, fast(), 1), reference_of(spec).front(), plan.training.grad_clip,
                              half_gradient_error());
    };
    for (const models::ModelSpec& spec : {dropping(small_gpt()), dropping(small_llama())})
        for (const kernels::Dtype half : {kernels::Dtype::bf16, kernels::Dtype::fp16})
            for (const bool fused : {true, false}) each(spec, half, fused);
}

/// Attention by products, a softmax and a dropout of their own draws the same masks, and leaves the same.
TEST_P(Dropouts, TrainAsTheReferenceInUnfusedAttention) {
    for (const models::ModelSpec& spec : {dropping(small_gpt()), dropping(small_llama()), small_gpt(), small_llama()}) {
        SCOPED_TRACE(spec.name);
        Plan plan = plan_of(spec);
        plan.training.fused_attention = false;
        GetParam().change(plan);
        expect_losses(train(plan, fast(), steps), reference_of(spec), single_error);
        expect_gradient_elements(train(plan, fast(), 1), reference_of(spec).front(), plan.training.grad_clip,
                                 single_error);
    }
}

INSTANTIATE_TEST_SUITE_P(Meshes, Dropouts, testing::ValuesIn(dropout_meshes), name_of);

/// Norms behind branches or sums, a parallel residual, windows, latent attention, experts.
TEST(DropoutsOf, OtherLayersTrainAsTheReference) {
    std::vector<models::ModelSpec> specs = layer_models();
    specs.push_back(small_latent());
    for (const models::ModelSpec& plain : specs)
        for (const bool sequence : {false, true}) {
            const models::ModelSpec spec = dropping(plain, 0.1);
            SCOPED_TRACE(spec.name);
            Plan plan = plan_of(spec);
            plan.strategy.tensor = sequence ? 2 : 1;
            plan.strategy.sequence_parallel = sequence;
            for (const bool fused : {true, false}) {
                plan.training.fused_attention = fused;
                expect_losses(train(plan, fast(), steps), reference_of(spec), single_error);
            }
        }
}

/// Behind experts, with biases and one that all tokens take, and divided among ranks.
TEST(DropoutsOf, LayersWithExpertsTrainAsTheReference) {
    models::ModelSpec mixtral = small_llama();
    mixtral.name = "experts";
    mixtral.experts = 4;
    mixtral.experts_per_token = 2;
    mixtral.expert_ffn = 20;
    mixtral.moe_layer_freq = 1;
    models::ModelSpec biased = small_gpt();
    biased.name = "experts with biases";
    biased.experts = 4;
    biased.experts_per_token = 1;
    biased.expert_ffn = 20;
    biased.shared_expert_ffn = 12;
    biased.moe_layer_freq = 2;
    for (const models::ModelSpec& plain : {mixtral, biased, small_latent_experts()}) {
        const models::ModelSpec spec = dropping(plain);
        SCOPED_TRACE(spec.name);
        Plan plan = plan_of(spec);
        expect_losses(train(plan, fast(), steps), reference_of(spec), single_error);
        plan.strategy.tensor = 2;
        plan.strategy.sequence_parallel = true;
        expect_losses(train(plan, fast(), steps), reference_of(spec), single_error);
        plan.strategy = {};
        plan.strategy.data = plan.strategy.expert = 2;
        expect_losses(train(plan, fast(), steps), reference_of(spec), single_error);
    }
}

/// Every other layer sees three tokens of eight.
TEST(DropoutsOf, WindowsTrainAsTheReference) {
    models::ModelSpec spec = dropping(small_llama());
    spec.name += ", windows";
    spec.attention_window = 3;
    spec.window_pattern = 2;
    for (const bool fused : {true, false}) {
        Plan plan = plan_of(spec);
        plan.training.fused_attention = fused;
        plan.strategy.tensor = 2;
        expect_losses(train(plan, fast(), steps), reference_of(spec), single_error);
    }
}

/// OPT's: nothing is dropped of attention, so that context ranks may share sequences.
TEST(DropoutsOf, HiddenStatesTrainOnContextRanks) {
    models::ModelSpec spec = dropping(small_gpt());
    spec.name += ", hidden alone";
    spec.hidden_dropout_alone = true;
    for (const std::uint32_t tensor : {1U, 2U})
        for (const auto exchange : {strategies::ContextExchange::p2p, strategies::ContextExchange::all_gather}) {
            Plan plan = plan_of(spec);
            plan.strategy.context = 2;
            plan.strategy.context_exchange = exchange;
            plan.strategy.tensor = tensor;
            plan.strategy.sequence_parallel = tensor > 1;
            expect_losses(train(plan, fast(), steps), reference_of(spec), single_error);
        }
}

/// Steps that follow each other without a flush are one program, of which each draws its own masks.
TEST(DropoutsOf, StepsOfOneProgramDrawTheirOwn) {
    Plan plan = plan_of(dropping(small_gpt()));
    plan.strategy.data = 1;
    const auto step_of = [&](std::uint32_t micro_batch) {
        const Place place{plan, plan.mesh(), 0};
        const kernels::Pointwise kernel{kernels::PointwiseKind::dropout, kernels::Dtype::fp32, 16, 16};
        const auto parts =
            dropped_rows(place, {{strategies::DropoutSite::Of::residual, 0}, -1, micro_batch}, kernel, 1);
        return parts.at(0).mask;
    };
    EXPECT_EQ(step_of(3).step, 0U);
    EXPECT_EQ(step_of(4).step, 1U);
    EXPECT_EQ(step_of(4).first, step_of(0).first);
    EXPECT_EQ(step_of(3).first, 3U * 16 * 16);
}

TEST(DropoutsOf, ARunRepeatsItselfAndAnotherSeedDoesNot) {
    Plan plan = plan_of(dropping(small_gpt()));
    plan.strategy.tensor = 2;
    const auto losses = [&](std::uint64_t seed) {
        RunSettings settings = fast();
        settings.seed = seed;
        return train(plan, settings, 3).losses;
    };
    const std::vector<double> one = losses(5);
    EXPECT_EQ(one, losses(5));
    EXPECT_NE(one, losses(6));
}

/// What is dropped is another loss, and none where the rate is 0.
TEST(DropoutsOf, TheRateMatters) {
    const auto first_loss = [](double rate) {
        models::ModelSpec spec = small_gpt();
        spec.dropout = rate;
        return train(plan_of(spec), fast(), 1).losses.front();
    };
    EXPECT_GT(std::abs(first_loss(0.5) - first_loss(0)), 1e-4);
    EXPECT_GT(std::abs(first_loss(0.5) - first_loss(0.1)), 1e-4);
}

}  // namespace
}  // namespace orrery::run
