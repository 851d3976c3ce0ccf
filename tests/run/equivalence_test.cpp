// Every mesh and every mode trains the same model as a plain implementation in double precision.
#include "base/error.hpp"
#include "run/support.hpp"
#include "tests/run/agreement.hpp"
#include "tests/run/every_mesh.hpp"

namespace orrery::run {
namespace {

using strategies::Plan;
using strategies::Recompute;
using strategies::ScheduleKind;
using strategies::Sharding;

void expect_the_reference(const Plan& plan, const models::ModelSpec& spec) {
    expect_losses(train(plan, fast(), steps), reference_of(spec), single_error);
}

/// Tied embeddings are refused where stages would shard their gradients differently.
void untie_where_needed(Plan& plan) {
    if (plan.strategy.pipeline == 1 || plan.strategy.sharding == Sharding::none || plan.strategy.data == 1) return;
    if (!plan.model.tied_embeddings) return;
    plan.model.tied_embeddings = false;
    plan.model.name = "gpt, untied";
}

TEST_P(EveryMesh, TrainsGptAsTheReference) {
    Plan plan = plan_of(small_gpt());
    GetParam().change(plan);
    untie_where_needed(plan);
    expect_the_reference(plan, plan.model);
}

TEST_P(EveryMesh, TrainsLlamaAsTheReference) {
    Plan plan = plan_of(small_llama());
    GetParam().change(plan);
    expect_the_reference(plan, plan.model);
}

/// Adam scales and clips what it reads, and the loss leaves its gradient, where Megatron-LM's takes passes of their
/// own.
TEST_P(EveryMesh, TrainsWithItsOwnKernels) {
    Plan plan = plan_of(small_llama());
    GetParam().change(plan);
    plan.training.software = hardware::Software::orrery;
    expect_the_reference(plan, plan.model);
}

TEST_P(EveryMesh, FindsTheReferencesGradients) {
    Plan plan = plan_of(small_llama());
    GetParam().change(plan);
    expect_gradient_elements(train(plan, fast(), 1), reference_of(plan.model).front(), plan.training.grad_clip,
                             single_error);
}

/// Every other layer sees three tokens; the sequence has eight.
TEST_P(EveryMesh, TrainsWindowsAsTheReference) {
    Plan plan = plan_of(small_llama());
    plan.model.name = "llama, windows";
    plan.model.attention_window = 3;
    plan.model.window_pattern = 2;
    GetParam().change(plan);
    const auto exchange = plan.strategy.context_exchange;
    const bool ring = exchange == strategies::ContextExchange::p2p || exchange == strategies::ContextExchange::a2a_p2p;
    if (plan.strategy.context > 1 && ring) {
        EXPECT_THROW(strategies::validate(plan), Error) << "a ring does not know windows";
        return;
    }
    expect_the_reference(plan, plan.model);
}

/// Gradients summed in fp32, or in the same format. Nothing overflows at this scale of fp16's loss.
std::vector<Plan> in_sixteen_bits(const models::ModelSpec& spec, const Case& one, bool in_same) {
    std::vector<Plan> plans;
    for (const kernels::Dtype half : {kernels::Dtype::bf16, kernels::Dtype::fp16}) {
        Plan plan = plan_of(spec);
        one.change(plan);
        plan.training.precision = {half, in_same ? half : kernels::Dtype::fp32};
        plan.training.loss_scaling.initial = 1024;
        untie_where_needed(plan);
        if (half == kernels::Dtype::bf16 || !plan.strategy.optimizer_cpu_offload)
            plans.push_back(std::move(plan));
        else
            EXPECT_THROW(require_executable(plan), Error);
    }
    return plans;
}

TEST_P(InSixteenBits, TrainsAsTheReference) {
    for (const models::ModelSpec& spec : {small_gpt(), small_llama()})
        for (const Plan& plan : in_sixteen_bits(spec, GetParam(), false)) {
            SCOPED_TRACE(plan.model.name);
            const Trained trained = train(plan, fast(), steps);
            expect_losses(trained, reference_of(plan.model), half_loss_error(steps));
            EXPECT_LT(trained.losses.back(), trained.losses.front() - 0.1);
        }
}

TEST_P(InSixteenBits, FindsTheReferencesGradients) {
    for (const models::ModelSpec& spec : {small_gpt(), small_llama()})
        for (const bool in_same : {false, true})
            for (const Plan& plan : in_sixteen_bits(spec, GetParam(), in_same)) {
                SCOPED_TRACE(plan.model.name);
                expect_gradient_norms(train(plan, fast(), 1), reference_of(plan.model).front(), plan.training.grad_clip,
                                      half_gradient_error());
            }
}

const Case one_rank_cases[]{
    {"OneRank", [](Plan&) {}},
    {"OneMicroBatch", [](Plan& p) { p.training.micro_batch = 8; }},
    {"MoreMicroBatches", [](Plan& p) { p.training.micro_batch = 1; }},
    {"UnfusedAccumulation", [](Plan& p) { p.training.gradient_accumulation_fusion = false; }},
    {"SelectiveRecompute", [](Plan& p) { p.strategy.recompute = Recompute::selective; }},
    {"FullRecompute", [](Plan& p) { p.strategy.recompute = Recompute::full; }},
    {"FullRecomputeOfOneLayer",
     [](Plan& p) {
         p.strategy.recompute = Recompute::full;
         p.strategy.recompute_num_layers = 1;
     }},
};

const Case tensor_cases[]{
    {"Tensor2", [](Plan& p) { p.strategy.tensor = 2; }},
    {"Tensor2Synchronous",
     [](Plan& p) {
         p.strategy.tensor = 2;
         p.strategy.async_tensor_allreduce = false;
     }},
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
    {"Sequence2SelectiveRecompute",
     [](Plan& p) {
         p.strategy.tensor = 2;
         p.strategy.sequence_parallel = true;
         p.strategy.recompute = Recompute::selective;
     }},
};

void offload(Plan& p, std::uint32_t layers) { p.strategy.cpu_offloading_num_layers = layers; }

const Case offload_cases[]{
    {"AllLayers", [](Plan& p) { offload(p, 4); }},
    {"SomeLayers", [](Plan& p) { offload(p, 2); }},
    {"MoreMicroBatches",
     [](Plan& p) {
         offload(p, 3);
         p.training.micro_batch = 1;
     }},
    {"SelectiveRecompute",
     [](Plan& p) {
         offload(p, 4);
         p.strategy.recompute = Recompute::selective;
     }},
    {"FullRecomputeOfOneLayer",
     [](Plan& p) {
         offload(p, 2);
         p.strategy.recompute = Recompute::full;
         p.strategy.recompute_num_layers = 1;
     }},
    {"Tensor2",
     [](Plan& p) {
         offload(p, 3);
         p.strategy.tensor = 2;
     }},
    {"Sequence2Zero1",
     [](Plan& p) {
         offload(p, 4);
         p.strategy.tensor = p.strategy.data = 2;
         p.strategy.sequence_parallel = true;
         p.strategy.sharding = Sharding::zero1;
     }},
    {"Pipeline2",
     [](Plan& p) {
         offload(p, 1);
         p.strategy.pipeline = 2;
     }},
    {"Pipeline2MoreMicroBatches",
     [](Plan& p) {
         offload(p, 2);
         p.strategy.pipeline = 2;
         p.training.micro_batch = 1;
     }},
    {"Pipeline2GPipe",
     [](Plan& p) {
         offload(p, 2);
         p.strategy.pipeline = 2;
         p.strategy.schedule = ScheduleKind::gpipe;
     }},
    {"Interleaved",
     [](Plan& p) {
         offload(p, 1);
         p.strategy.pipeline = p.strategy.virtual_pipeline = 2;
         p.strategy.schedule = ScheduleKind::interleaved;
         p.training.micro_batch = 1;
     }},
};

INSTANTIATE_TEST_SUITE_P(OneRank, EveryMesh, testing::ValuesIn(one_rank_cases), name_of);
INSTANTIATE_TEST_SUITE_P(Tensor, EveryMesh, testing::ValuesIn(tensor_cases), name_of);
INSTANTIATE_TEST_SUITE_P(OneRank, InSixteenBits, testing::ValuesIn(one_rank_cases), name_of);
INSTANTIATE_TEST_SUITE_P(Tensor, InSixteenBits, testing::ValuesIn(tensor_cases), name_of);
INSTANTIATE_TEST_SUITE_P(Offload, EveryMesh, testing::ValuesIn(offload_cases), name_of);

}  // namespace
}  // namespace orrery::run
