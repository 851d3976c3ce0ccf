// The optimizer in the host's memory, of all parameters or of a part of them.
#include "strategies/optimizer_offload.hpp"

#include "tests/run/agreement.hpp"
#include "tests/run/every_mesh.hpp"

namespace orrery::run {
namespace {

using strategies::Plan;
using strategies::ScheduleKind;
using strategies::Sharding;

void on_host(Plan& p, double fraction = 1, bool overlap = false) {
    p.strategy.optimizer_cpu_offload = true;
    p.strategy.optimizer_offload_fraction = fraction;
    p.strategy.overlap_optimizer_copies = overlap;
}

const Case host_cases[]{
    {"All", [](Plan& p) { on_host(p); }},
    {"APart", [](Plan& p) { on_host(p, 0.37); }},
    {"BucketByBucket", [](Plan& p) { on_host(p, 1, true); }},
    {"APartBucketByBucket",
     [](Plan& p) {
         on_host(p, 0.37, true);
         p.strategy.bucket_bytes = 4096;
     }},
    {"Sequence2",
     [](Plan& p) {
         on_host(p, 0.5);
         p.strategy.tensor = 2;
         p.strategy.sequence_parallel = true;
     }},
    {"Data2",
     [](Plan& p) {
         on_host(p, 0.5, true);
         p.strategy.data = 2;
     }},
    {"Data2Zero1",
     [](Plan& p) {
         on_host(p, 0.5);
         p.strategy.data = 2;
         p.strategy.sharding = Sharding::zero1;
     }},
    {"Data2Zero1BucketByBucket",
     [](Plan& p) {
         on_host(p, 1, true);
         p.strategy.data = 2;
         p.strategy.overlap_grad_reduce = true;
         p.strategy.sharding = Sharding::zero1;
     }},
    {"Data2Zero2",
     [](Plan& p) {
         on_host(p, 0.5, true);
         p.strategy.data = 2;
         p.strategy.sharding = Sharding::zero2;
     }},
    {"Data2Zero3",
     [](Plan& p) {
         on_host(p, 0.5);
         p.strategy.data = 2;
         p.strategy.sharding = Sharding::zero3;
     }},
    {"Data4Zero3All",
     [](Plan& p) {
         on_host(p);
         p.strategy.data = 4;
         p.strategy.sharding = Sharding::zero3;
     }},
    {"Pipeline2",
     [](Plan& p) {
         on_host(p, 0.5);
         p.strategy.pipeline = 2;
     }},
    {"Context2",
     [](Plan& p) {
         on_host(p);
         p.strategy.context = 2;
         p.strategy.context_exchange = strategies::ContextExchange::all_gather;
     }},
};

INSTANTIATE_TEST_SUITE_P(OptimizerOnHost, EveryMesh, testing::ValuesIn(host_cases), name_of);
INSTANTIATE_TEST_SUITE_P(OptimizerOnHost, InSixteenBits, testing::ValuesIn(host_cases), name_of);

TEST(OptimizerOnHost, ClipsNothingWhereThePlanDoesNot) {
    Plan plan = plan_of(small_gpt());
    plan.training.grad_clip = 0;
    on_host(plan, 0.5);
    expect_losses(train(plan, fast(), steps), train_reference(plan, fast(), steps), single_error);
}

TEST(OptimizerOnHost, TrainsExperts) {
    Plan plan = plan_of(small_llama());
    plan.model.name = "llama, experts";
    plan.model.experts = 4;
    plan.model.experts_per_token = 2;
    plan.model.expert_ffn = 16;
    plan.model.moe_layer_freq = 1;
    plan.strategy.data = plan.strategy.expert = 2;
    plan.strategy.sharding = Sharding::zero1;
    on_host(plan, 0.6, true);
    expect_losses(train(plan, fast(), steps), train_reference(plan, fast(), steps), single_error);
}

/// As many as the plan says have their states in the host's memory and not in the device's: of fp32 three numbers and
/// the gradient, of bf16 beside them the fp32 gradient (where sums are bf16) and the weight that leaves.
TEST(OptimizerOnHost, HasItsStatesInTheHostsMemory) {
    Plan plan = plan_of(small_gpt());
    const RankMemory before = train(plan, fast(), 1).memory.front();
    const std::uint64_t parameters = before.weights / sizeof(float);
    for (const double fraction : {0.25, 1.0}) {
        on_host(plan, fraction);
        const std::uint64_t there = strategies::offloaded(plan, parameters);
        const RankMemory memory = train(plan, fast(), 1).memory.front();
        EXPECT_EQ(memory.host, 16 * there);
        EXPECT_EQ(memory.optimizer, before.optimizer - 8 * there);
        EXPECT_EQ(memory.weights, before.weights);
    }
    plan.training.precision = {kernels::Dtype::bf16, kernels::Dtype::bf16};
    EXPECT_EQ(train(plan, fast(), 1).memory.front().host, (12 + 2 + 4 + 2) * parameters);
}

}  // namespace
}  // namespace orrery::run
