// Layers other than GPT's and Llama's train as a plain implementation does, on meshes of each kind.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/run/agreement.hpp"
#include "tests/run/layer_models.hpp"
#include "tests/run/small_models.hpp"

namespace orrery::run {
namespace {

using strategies::Plan;
using strategies::Recompute;
using strategies::ScheduleKind;
using strategies::Sharding;

const Case meshes[]{
    {"OneRank", [](Plan&) {}},
    {"UnfusedAccumulation", [](Plan& p) { p.training.gradient_accumulation_fusion = false; }},
    {"SelectiveRecompute", [](Plan& p) { p.strategy.recompute = Recompute::selective; }},
    {"FullRecompute", [](Plan& p) { p.strategy.recompute = Recompute::full; }},
    {"Tensor2", [](Plan& p) { p.strategy.tensor = 2; }},
    {"Sequence2",
     [](Plan& p) {
         p.strategy.tensor = 2;
         p.strategy.sequence_parallel = true;
     }},
    {"Pipeline2", [](Plan& p) { p.strategy.pipeline = 2; }},
    {"ZeroBubbleOfSequence2",
     [](Plan& p) {
         p.strategy.pipeline = p.strategy.tensor = 2;
         p.strategy.sequence_parallel = true;
         p.strategy.schedule = ScheduleKind::zb_h1;
     }},
    {"Zero3",
     [](Plan& p) {
         p.strategy.data = 2;
         p.strategy.sharding = Sharding::zero3;
     }},
    {"Everything",
     [](Plan& p) {
         p.strategy.tensor = p.strategy.pipeline = p.strategy.data = 2;
         p.strategy.sequence_parallel = true;
         p.strategy.recompute = Recompute::full;
         p.strategy.sharding = Sharding::zero1;
         p.strategy.overlap_grad_reduce = true;
         p.strategy.bucket_bytes = 6000;
     }},
};

/// Norms of queries and keys are executed on tensor ranks beside sequence parallelism alone, as experts are; and what
/// stages share cannot be sharded by each of them.
bool is_executed(const Plan& plan) {
    const auto& [model, strategy] = std::tie(plan.model, plan.strategy);
    const bool split = strategy.tensor > 1 && !strategy.sequence_parallel;
    const bool words = model.tied_embeddings && strategy.pipeline > 1 && strategy.sharding != Sharding::none;
    return !(split && (model.qk_norm || model.experts > 0)) && !words;
}

class Layers : public testing::TestWithParam<models::ModelSpec> {};

TEST_P(Layers, TrainAsTheReference) {
    for (const Case& mesh : meshes) {
        SCOPED_TRACE(mesh.name);
        Plan plan = plan_of(GetParam());
        mesh.change(plan);
        if (!is_executed(plan)) continue;
        expect_losses(train(plan, fast(), steps), reference_of(plan.model), single_error);
        expect_gradient_elements(train(plan, fast(), 1), reference_of(plan.model).front(), plan.training.grad_clip,
                                 single_error);
    }
}

/// Beside GPT's and Llama's layers, branches behind a norm are as large as the stream that they are added to, and the
/// weights of norms over heads have gradients of few numbers that cancel: twice as far.
constexpr double further = 2;

/// A rounded number on the other side of 0 has another slope: gradients jump.
bool has_kink(const models::ModelSpec& spec) { return spec.activation == models::ActivationKind::relu; }

TEST_P(Layers, TrainInSixteenBits) {
    for (const Case& mesh : {meshes[0], meshes[5]}) {  // one rank, and sequence parallelism
        SCOPED_TRACE(mesh.name);
        Plan plan = plan_of(GetParam());
        mesh.change(plan);
        plan.training.precision = {kernels::Dtype::bf16, kernels::Dtype::fp32};
        const Trained trained = train(plan, fast(), steps);
        expect_losses(trained, reference_of(plan.model), further * half_loss_error(steps));
        if (has_kink(plan.model)) continue;
        expect_gradient_norms(train(plan, fast(), 1), reference_of(plan.model).front(), plan.training.grad_clip,
                              further * half_gradient_error());
    }
}

std::string name_of(const testing::TestParamInfo<models::ModelSpec>& one) {
    std::string name;
    std::ranges::copy_if(one.param.name, std::back_inserter(name),
                         [](unsigned char c) { return std::isalnum(c) != 0; });
    return name;
}

INSTANTIATE_TEST_SUITE_P(Models, Layers, testing::ValuesIn(layer_models()), name_of);
INSTANTIATE_TEST_SUITE_P(Latent, Layers, testing::Values(small_latent(), small_latent_lite(), small_latent_experts()),
                         name_of);

/// OLMo 2: over all heads of a token.
TEST(WholeNorms, TrainAsTheReference) {
    models::ModelSpec spec = small_llama();
    spec.name = "norms of all heads (OLMo 2)";
    spec.qk_norm = spec.qk_norm_whole = spec.output_norm = true;
    spec.input_norm = false;
    for (const std::uint32_t stages : {1U, 2U}) {
        Plan plan = plan_of(spec);
        plan.strategy.pipeline = stages;
        expect_losses(train(plan, fast(), steps), reference_of(spec), single_error);
        expect_gradient_elements(train(plan, fast(), 1), reference_of(spec).front(), plan.training.grad_clip,
                                 single_error);
    }
}

}  // namespace
}  // namespace orrery::run
