// When shares of weights are gathered and given back, and gradients reduced.
#include "tests/run/every_mesh.hpp"

namespace orrery::run {
namespace {

using strategies::GradientSyncs;
using strategies::Plan;
using strategies::ScheduleKind;
using strategies::Sharding;

/// Ranks that keep shares, of which several micro-batches and layers make use.
void fully_sharded(Plan& p, std::uint32_t data = 2) {
    p.strategy.data = data;
    p.strategy.sharding = Sharding::zero3;
    p.strategy.overlap_grad_reduce = true;
    p.strategy.bucket_bytes = 6000;
    p.training.micro_batch = 1;
}

const Case visit_cases[]{
    {"NotGivenBack",
     [](Plan& p) {
         fully_sharded(p);
         p.strategy.full_sharding.reshard_after_forward = false;
     }},
    {"NotGivenBackInAPipeline",
     [](Plan& p) {
         fully_sharded(p);
         p.strategy.full_sharding.reshard_after_forward = false;
         p.strategy.pipeline = 2;
     }},
    {"NotGivenBackInterleaved",
     [](Plan& p) {
         fully_sharded(p);
         p.strategy.full_sharding = {.reshard_after_forward = false, .unit_layers = 2, .prefetch = 3};
         p.strategy.pipeline = p.strategy.virtual_pipeline = 2;
         p.strategy.schedule = ScheduleKind::interleaved;
     }},
    {"UnitsOfTwoLayers",
     [](Plan& p) {
         fully_sharded(p, 4);
         p.strategy.full_sharding.unit_layers = 2;
     }},
    {"UnitsOfThreeLayersZeroBubble",
     [](Plan& p) {
         fully_sharded(p);
         p.strategy.full_sharding = {.unit_layers = 3, .prefetch = 2};
         p.strategy.pipeline = 2;
         p.strategy.schedule = ScheduleKind::zb_h1;
     }},
    {"NoPrefetch",
     [](Plan& p) {
         fully_sharded(p);
         p.strategy.full_sharding.prefetch = 0;
     }},
    {"PrefetchOfThree",
     [](Plan& p) {
         fully_sharded(p);
         p.strategy.full_sharding.prefetch = 3;
     }},
    {"NoLimit",
     [](Plan& p) {
         fully_sharded(p);
         p.strategy.full_sharding = {.unit_layers = 2, .limit_all_gathers = false};
     }},
    {"NoLimitInGroups",
     [](Plan& p) {
         fully_sharded(p, 4);
         p.strategy.full_sharding = {.reshard_after_forward = false, .prefetch = 0, .limit_all_gathers = false};
         p.strategy.optimizer_instances = 2;
     }},
};

const Case sync_cases[]{
    {"Zero3OnceAStep",
     [](Plan& p) {
         fully_sharded(p);
         p.strategy.gradient_syncs = GradientSyncs::step;
     }},
    {"Zero3OnceAStepInGroups",
     [](Plan& p) {
         fully_sharded(p, 4);
         p.strategy.gradient_syncs = GradientSyncs::step;
         p.strategy.optimizer_instances = 2;
         p.strategy.overlap_grad_reduce = false;
     }},
    {"Zero3InTwoHops",
     [](Plan& p) {
         fully_sharded(p, 4);
         p.strategy.gradient_syncs = GradientSyncs::two_hop;
         p.strategy.optimizer_instances = 2;
     }},
    {"Zero3InGroupsEachMicroBatch",
     [](Plan& p) {
         fully_sharded(p, 4);
         p.strategy.optimizer_instances = 2;
     }},
    {"Zero2InGroupsByAllReduces",
     [](Plan& p) {
         p.strategy.data = 4;
         p.strategy.sharding = strategies::Sharding::zero2;
         p.strategy.optimizer_instances = 2;
         p.strategy.grad_reduce_collective = strategies::GradReduceCollective::all_reduce;
         p.strategy.bucket_bytes = 6000;
     }},
    {"Zero3OnceAStepInAPipeline",
     [](Plan& p) {
         fully_sharded(p);
         p.strategy.gradient_syncs = GradientSyncs::step;
         p.strategy.full_sharding.reshard_after_forward = false;
         p.strategy.pipeline = 2;
     }},
    {"EachMicroBatch",
     [](Plan& p) {
         p.strategy.data = 2;
         p.training.micro_batch = 1;
         p.strategy.gradient_syncs = GradientSyncs::micro_batch;
     }},
    {"EachMicroBatchOverlap",
     [](Plan& p) {
         p.strategy.data = 4;
         p.training.micro_batch = 1;
         p.strategy.overlap_grad_reduce = true;
         p.strategy.bucket_bytes = 6000;
         p.strategy.gradient_syncs = GradientSyncs::micro_batch;
     }},
    {"EachMicroBatchInAPipeline",
     [](Plan& p) {
         p.strategy.data = p.strategy.pipeline = p.strategy.tensor = 2;
         p.strategy.sequence_parallel = true;
         p.training.micro_batch = 1;
         p.strategy.gradient_syncs = GradientSyncs::micro_batch;
     }},
};

/// Every rank has all sums, and keeps its part.
void by_all_reduce(Plan& p, Sharding sharding, bool overlap) {
    p.strategy.data = 2;
    p.strategy.sharding = sharding;
    p.strategy.overlap_grad_reduce = overlap;
    p.strategy.bucket_bytes = 6000;
    p.strategy.grad_reduce_collective = strategies::GradReduceCollective::all_reduce;
    p.training.micro_batch = 1;
}

const Case collective_cases[]{
    {"Zero1ByAllReduce", [](Plan& p) { by_all_reduce(p, Sharding::zero1, false); }},
    {"Zero1ByAllReduceOverlap",
     [](Plan& p) {
         by_all_reduce(p, Sharding::zero1, true);
         p.strategy.tensor = 2;
     }},
    {"Zero2ByAllReduce",
     [](Plan& p) {
         by_all_reduce(p, Sharding::zero2, true);
         p.strategy.pipeline = 2;
     }},
    {"Zero3ByAllReduce", [](Plan& p) { by_all_reduce(p, Sharding::zero3, true); }},
};

INSTANTIATE_TEST_SUITE_P(Visits, EveryMesh, testing::ValuesIn(visit_cases), name_of);
INSTANTIATE_TEST_SUITE_P(Visits, InSixteenBits, testing::ValuesIn(visit_cases), name_of);
INSTANTIATE_TEST_SUITE_P(Syncs, EveryMesh, testing::ValuesIn(sync_cases), name_of);
INSTANTIATE_TEST_SUITE_P(Syncs, InSixteenBits, testing::ValuesIn(sync_cases), name_of);
INSTANTIATE_TEST_SUITE_P(Collectives, EveryMesh, testing::ValuesIn(collective_cases), name_of);
INSTANTIATE_TEST_SUITE_P(Collectives, InSixteenBits, testing::ValuesIn(collective_cases), name_of);

}  // namespace
}  // namespace orrery::run
