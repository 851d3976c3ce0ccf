// Layers with experts, on every mesh and in every mode, train as a plain loop over tokens and their experts does.
#include <gtest/gtest.h>

#include "tests/run/agreement.hpp"

namespace orrery::run {
namespace {

using strategies::Plan;
using strategies::Recompute;
using strategies::ScheduleKind;
using strategies::Sharding;

constexpr std::uint32_t steps = 10;

/// LayerNorm, GELU and biases, tied logits; one expert a token, in every other layer.
models::ModelSpec gpt() {
    return {.name = "gpt",
            .layers = 4,
            .hidden = 16,
            .heads = 4,
            .kv_heads = 4,
            .head_dim = 4,
            .ffn = 24,
            .vocab = 120,
            .max_positions = 8,
            .experts = 4,
            .experts_per_token = 1,
            .expert_ffn = 20,
            .moe_layer_freq = 2};
}

/// As Mixtral: RMSNorm, SwiGLU, rotary positions, grouped heads, no biases; two experts a token, in every layer.
models::ModelSpec mixtral() {
    models::ModelSpec spec = gpt();
    spec.name = "mixtral";
    spec.family = models::Family::llama;
    spec.kv_heads = 2;
    spec.gated = true;
    spec.tied_embeddings = spec.linear_bias = spec.qkv_bias = false;
    spec.norm = models::NormKind::rmsnorm;
    spec.position = models::PositionKind::rope;
    spec.max_positions = 0;
    spec.experts_per_token = 2;
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

Plan plan_of(const models::ModelSpec& spec) {
    Plan plan;
    plan.model = spec;
    plan.training.seq = 8;
    plan.training.micro_batch = 2;
    plan.training.global_batch = 8;
    plan.training.precision = {kernels::Dtype::fp32, kernels::Dtype::fp32};
    plan.training.grad_clip = 0.5;  // below the norm of these gradients: clipping acts
    return plan;
}

RunSettings fast() {
    RunSettings settings;
    settings.adam.rate = 5e-3;
    return settings;
}

struct Case {
    const char* name;
    void (*change)(Plan&);
};

const std::vector<ReferenceStep>& reference_of(const models::ModelSpec& spec) {
    static std::map<std::string, std::vector<ReferenceStep>> references;
    auto& reference = references[spec.name];
    if (reference.empty()) reference = train_reference(plan_of(spec), fast(), steps);
    return reference;
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
    if (plan.strategy.pipeline > 1 && plan.strategy.sharding == Sharding::zero1) {
        plan = plan_of(gpt());
        plan.model.tied_embeddings = false;  // tied ones are refused
        plan.model.name = "gpt, untied";
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

std::string name_of(const testing::TestParamInfo<Case>& one) { return one.param.name; }

INSTANTIATE_TEST_SUITE_P(OneRank, ExpertMeshes, testing::ValuesIn(one_rank_cases), name_of);
INSTANTIATE_TEST_SUITE_P(Expert, ExpertMeshes, testing::ValuesIn(expert_cases), name_of);
INSTANTIATE_TEST_SUITE_P(Sharded, ExpertMeshes, testing::ValuesIn(sharded_cases), name_of);
INSTANTIATE_TEST_SUITE_P(Tensor, ExpertMeshes, testing::ValuesIn(tensor_cases), name_of);

}  // namespace
}  // namespace orrery::run
