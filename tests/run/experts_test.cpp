// Layers with experts, on every mesh and in every mode, train as a plain loop over tokens and their experts does.
#include <gtest/gtest.h>

#include "tests/run/agreement.hpp"
#include "tests/run/small_models.hpp"

namespace orrery::run {
namespace {

using strategies::Plan;
using strategies::Recompute;
using strategies::ScheduleKind;
using strategies::Sharding;

/// One expert a token, in every other layer.
models::ModelSpec gpt() {
    models::ModelSpec spec = small_gpt();
    spec.name = "gpt with experts";
    spec.vocab = 120;
    spec.experts = 4;
    spec.experts_per_token = 1;
    spec.expert_ffn = 20;
    spec.moe_layer_freq = 2;
    return spec;
}

/// As Mixtral: two experts a token, in every layer.
models::ModelSpec mixtral() {
    models::ModelSpec spec = small_llama();
    spec.name = "mixtral";
    spec.vocab = 120;
    spec.experts = 4;
    spec.experts_per_token = 2;
    spec.expert_ffn = 20;
    spec.moe_layer_freq = 1;
    return spec;
}

/// Three of eight experts a token and one that all take.
models::ModelSpec shared() {
    models::ModelSpec spec = mixtral();
    spec.name = "shared";
    spec.experts = 8;
    spec.experts_per_token = 3;
    spec.shared_expert_ffn = 28;
    return spec;
}

class ExpertMeshes : public testing::TestWithParam<Case> {
protected:
    static void expect_the_reference(Plan plan) {
        GetParam().change(plan);
        const auto& reference = reference_of(plan.model);
        expect_losses(train(plan, fast(), steps), reference, single_error);
        expect_gradient_elements(train(plan, fast(), 1), reference.front(), plan.training.grad_clip, single_error);
        plan.training.precision = {kernels::Dtype::bf16, kernels::Dtype::fp32};
        expect_losses(train(plan, fast(), steps), reference, half_loss_error(steps));
        expect_gradient_norms(train(plan, fast(), 1), reference.front(), plan.training.grad_clip,
                              half_gradient_error());
    }
};

TEST_P(ExpertMeshes, TrainGpt) {
    Plan plan = plan_of(gpt());
    GetParam().change(plan);
    if (plan.strategy.pipeline > 1 && plan.strategy.sharding != Sharding::none) {
        plan = plan_of(gpt());
        plan.model.tied_embeddings = false;  // tied ones are refused
        plan.model.name = "gpt with experts, untied";
        return expect_the_reference(plan);
    }
    expect_the_reference(plan_of(gpt()));
}
TEST_P(ExpertMeshes, TrainMixtral) { expect_the_reference(plan_of(mixtral())); }
TEST_P(ExpertMeshes, TrainWithASharedExpert) { expect_the_reference(plan_of(shared())); }

const Case one_rank_cases[]{
    {"OneRank", [](Plan&) {}},
    {"OneMicroBatch", [](Plan& p) { p.training.micro_batch = 8; }},
    {"UnfusedAccumulation", [](Plan& p) { p.training.gradient_accumulation_fusion = false; }},
    {"SelectiveRecompute", [](Plan& p) { p.strategy.recompute = Recompute::selective; }},
    {"FullRecompute", [](Plan& p) { p.strategy.recompute = Recompute::full; }},
    {"FullRecomputeOfOneLayer",
     [](Plan& p) {
         p.strategy.recompute = Recompute::full;
         p.strategy.recompute_num_layers = 1;
     }},
    {"Offload2", [](Plan& p) { p.strategy.cpu_offloading_num_layers = 2; }},
    {"OffloadAllBeingSelective",
     [](Plan& p) {
         p.strategy.cpu_offloading_num_layers = 4;
         p.strategy.recompute = Recompute::selective;
     }},
    {"PaddedToTheirTokens",
     [](Plan& p) {
         p.training.expert_capacity = 1;
         p.training.pad_to_capacity = true;
     }},
};

const Case expert_cases[]{
    {"Expert2", [](Plan& p) { p.strategy.data = p.strategy.expert = 2; }},
    {"Expert4", [](Plan& p) { p.strategy.data = p.strategy.expert = 4; }},
    {"Data4Expert2",
     [](Plan& p) {
         p.strategy.data = 4;
         p.strategy.expert = 2;
     }},
    {"Data2WithoutExpertRanks", [](Plan& p) { p.strategy.data = 2; }},
    {"Expert2FullRecompute",
     [](Plan& p) {
         p.strategy.data = p.strategy.expert = 2;
         p.strategy.recompute = Recompute::full;
     }},
    {"Expert2Pipeline2", [](Plan& p) { p.strategy.data = p.strategy.expert = p.strategy.pipeline = 2; }},
    {"Expert2Interleaved",
     [](Plan& p) {
         p.strategy.data = p.strategy.expert = p.strategy.pipeline = p.strategy.virtual_pipeline = 2;
         p.strategy.schedule = ScheduleKind::interleaved;
     }},
    {"Expert2ZeroBubble",
     [](Plan& p) {
         p.strategy.data = p.strategy.expert = p.strategy.pipeline = 2;
         p.strategy.schedule = ScheduleKind::zb_h1;
     }},
};

const Case sharded_cases[]{
    {"Zero1Expert2",
     [](Plan& p) {
         p.strategy.data = p.strategy.expert = 2;
         p.strategy.sharding = Sharding::zero1;
     }},
    {"Zero1Data2",
     [](Plan& p) {
         p.strategy.data = 2;
         p.strategy.sharding = Sharding::zero1;
     }},
    {"Zero1Data4Expert2",
     [](Plan& p) {
         p.strategy.data = 4;
         p.strategy.expert = 2;
         p.strategy.sharding = Sharding::zero1;
     }},
    {"Data4Expert2Overlap",
     [](Plan& p) {
         p.strategy.data = 4;
         p.strategy.expert = 2;
         p.strategy.overlap_grad_reduce = true;
         p.strategy.bucket_bytes = 9000;
     }},
    {"Zero1Data4Expert2Overlap",
     [](Plan& p) {
         p.strategy.data = 4;
         p.strategy.expert = 2;
         p.strategy.sharding = Sharding::zero1;
         p.strategy.overlap_grad_reduce = p.strategy.overlap_param_gather = true;
         p.strategy.bucket_bytes = 9000;
     }},
    {"Zero2Data4Expert2Overlap",
     [](Plan& p) {
         p.strategy.data = 4;
         p.strategy.expert = 2;
         p.strategy.sharding = Sharding::zero2;
         p.strategy.overlap_grad_reduce = true;
         p.strategy.bucket_bytes = 9000;
     }},
    {"Zero3Data4Expert2",
     [](Plan& p) {
         p.strategy.data = 4;
         p.strategy.expert = 2;
         p.strategy.sharding = Sharding::zero3;
     }},
    {"Zero3Expert2",
     [](Plan& p) {
         p.strategy.data = p.strategy.expert = 2;
         p.strategy.sharding = Sharding::zero3;
     }},
    {"Zero1Expert2Overlap",
     [](Plan& p) {
         p.strategy.data = p.strategy.expert = 2;
         p.strategy.sharding = Sharding::zero1;
         p.strategy.overlap_grad_reduce = p.strategy.overlap_param_gather = true;
         p.strategy.bucket_bytes = 9000;
     }},
};

void sequence2(Plan& p) {
    p.strategy.tensor = 2;
    p.strategy.sequence_parallel = true;
}

const Case tensor_cases[]{
    {"Sequence2", sequence2},
    {"Sequence2FullRecompute",
     [](Plan& p) {
         sequence2(p);
         p.strategy.recompute = Recompute::full;
     }},
    {"Sequence2Expert2",
     [](Plan& p) {
         sequence2(p);
         p.strategy.data = p.strategy.expert = 2;
     }},
    {"Sequence2WholeExperts",
     [](Plan& p) {
         sequence2(p);
         p.strategy.expert = 2;
         p.strategy.expert_tensor = 1;
     }},
    {"Sequence2WholeExpertsOver4",
     [](Plan& p) {
         sequence2(p);
         p.strategy.data = 2;
         p.strategy.expert = 4;
         p.strategy.expert_tensor = 1;
     }},
    {"Sequence2WholeExpertsData2Zero1",
     [](Plan& p) {
         sequence2(p);
         p.strategy.data = p.strategy.expert = 2;
         p.strategy.expert_tensor = 1;
         p.strategy.sharding = Sharding::zero1;
     }},
    {"Everything",
     [](Plan& p) {
         sequence2(p);
         p.strategy.pipeline = p.strategy.data = p.strategy.expert = 2;
         p.strategy.recompute = Recompute::full;
         p.strategy.sharding = Sharding::zero1;
         p.strategy.overlap_grad_reduce = true;
         p.strategy.bucket_bytes = 9000;
     }},
};

void again(Plan& p, const char* modules) {
    p.strategy.recompute = Recompute::selective;
    p.strategy.recompute_modules = modules;
}

const Case module_cases[]{
    {"Activations", [](Plan& p) { again(p, "moe_act"); }},
    {"Experts", [](Plan& p) { again(p, "moe,core_attn"); }},
    {"SharedExpertsAndNorms", [](Plan& p) { again(p, "shared_experts,layernorm,moe_act"); }},
    {"Expert2Experts",
     [](Plan& p) {
         again(p, "moe,layernorm");
         p.strategy.data = p.strategy.expert = 2;
     }},
};

std::string name_of(const testing::TestParamInfo<Case>& one) { return one.param.name; }

INSTANTIATE_TEST_SUITE_P(OneRank, ExpertMeshes, testing::ValuesIn(one_rank_cases), name_of);
INSTANTIATE_TEST_SUITE_P(Expert, ExpertMeshes, testing::ValuesIn(expert_cases), name_of);
INSTANTIATE_TEST_SUITE_P(Sharded, ExpertMeshes, testing::ValuesIn(sharded_cases), name_of);
INSTANTIATE_TEST_SUITE_P(Modules, ExpertMeshes, testing::ValuesIn(module_cases), name_of);
INSTANTIATE_TEST_SUITE_P(Tensor, ExpertMeshes, testing::ValuesIn(tensor_cases), name_of);

}  // namespace
}  // namespace orrery::run
