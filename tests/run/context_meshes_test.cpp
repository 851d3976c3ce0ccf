// Ranks that share sequences and exchange heads for attention.
#include "tests/run/agreement.hpp"
#include "tests/run/every_mesh.hpp"

namespace orrery::run {
namespace {

using strategies::Plan;
using strategies::Recompute;
using strategies::ScheduleKind;
using strategies::Sharding;

void context(Plan& p, std::uint32_t ranks) {
    p.strategy.context = ranks;
    p.strategy.context_exchange = strategies::ContextExchange::a2a;
}

const Case context_cases[]{
    {"Context2", [](Plan& p) { context(p, 2); }},
    {"OneSequence",
     [](Plan& p) {
         context(p, 2);
         p.training.micro_batch = 1;
     }},
    {"SelectiveRecompute",
     [](Plan& p) {
         context(p, 2);
         p.strategy.recompute = Recompute::selective;
     }},
    {"FullRecompute",
     [](Plan& p) {
         context(p, 2);
         p.strategy.recompute = Recompute::full;
     }},
    {"Offload",
     [](Plan& p) {
         context(p, 2);
         p.strategy.cpu_offloading_num_layers = 2;
     }},
    {"Zero1",
     [](Plan& p) {
         context(p, 2);
         p.strategy.sharding = Sharding::zero1;
     }},
    {"Data2Zero3",
     [](Plan& p) {
         context(p, 2);
         p.strategy.data = 2;
         p.strategy.sharding = Sharding::zero3;
     }},
    {"Pipeline2",
     [](Plan& p) {
         context(p, 2);
         p.strategy.pipeline = 2;
     }},
    {"ZeroBubble",
     [](Plan& p) {
         context(p, 2);
         p.strategy.pipeline = 2;
         p.strategy.schedule = ScheduleKind::zb_h1;
     }},
};

INSTANTIATE_TEST_SUITE_P(Context, EveryMesh, testing::ValuesIn(context_cases), name_of);
INSTANTIATE_TEST_SUITE_P(Context, InSixteenBits, testing::ValuesIn(context_cases), name_of);

void expect_the_reference(const Plan& plan) {
    const auto& reference = reference_of(plan.model);
    expect_losses(train(plan, fast(), steps), reference, single_error);
    expect_gradient_elements(train(plan, fast(), 1), reference.front(), plan.training.grad_clip, single_error);
}

/// A head for each of four ranks, which hold two tokens that are not neighbours.
TEST(ContextMeshes, ShareHeadsWithTensorRanks) {
    for (const bool sequence : {false, true}) {
        Plan plan = plan_of(small_gpt());
        context(plan, 2);
        plan.strategy.tensor = 2;
        plan.strategy.sequence_parallel = sequence;
        expect_the_reference(plan);
    }
    Plan plan = plan_of(small_gpt());
    context(plan, 4);
    expect_the_reference(plan);
}

/// Every token sees every other.
TEST(ContextMeshes, TrainWithoutAMask) {
    Plan plan = plan_of(small_llama());
    plan.model.name = "llama, both ways";
    plan.model.causal = false;
    context(plan, 2);
    expect_the_reference(plan);
}

}  // namespace
}  // namespace orrery::run
