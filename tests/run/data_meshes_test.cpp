// Data ranks, and what they share.
#include "tests/run/every_mesh.hpp"

namespace orrery::run {
namespace {

using strategies::Plan;
using strategies::Recompute;
using strategies::ScheduleKind;
using strategies::Sharding;

const Case data_cases[]{
    {"Data2", [](Plan& p) { p.strategy.data = 2; }},
    {"Data2Overlap",
     [](Plan& p) {
         p.strategy.data = 2;
         p.strategy.overlap_grad_reduce = true;
         p.strategy.bucket_bytes = 6000;
     }},
    {"Zero1",
     [](Plan& p) {
         p.strategy.data = 2;
         p.strategy.sharding = Sharding::zero1;
     }},
    {"Zero1Overlap",
     [](Plan& p) {
         p.strategy.data = 2;
         p.strategy.sharding = Sharding::zero1;
         p.strategy.overlap_grad_reduce = p.strategy.overlap_param_gather = true;
         p.strategy.bucket_bytes = 6000;
     }},
    {"Zero1InTwoGroups",
     [](Plan& p) {
         p.strategy.data = 4;
         p.strategy.sharding = Sharding::zero1;
         p.strategy.optimizer_instances = 2;
     }},
    {"Zero1InTwoGroupsOverlap",
     [](Plan& p) {
         p.strategy.data = 4;
         p.strategy.sharding = Sharding::zero1;
         p.strategy.optimizer_instances = 2;
         p.strategy.overlap_grad_reduce = p.strategy.overlap_param_gather = true;
         p.strategy.bucket_bytes = 6000;
     }},
    {"UnequalShares",
     [](Plan& p) {
         p.strategy.data = 2;
         p.training.micro_batch = 1;
         p.strategy.replica_micro_batches = "3,5";
     }},
    {"UnequalSharesZero1Overlap",
     [](Plan& p) {
         p.strategy.data = 4;
         p.training.micro_batch = 1;
         p.strategy.replica_micro_batches = "2,1,4,1";
         p.strategy.sharding = Sharding::zero1;
         p.strategy.overlap_grad_reduce = p.strategy.overlap_param_gather = true;
         p.strategy.bucket_bytes = 6000;
     }},
    {"UnequalSharesPipeline2",
     [](Plan& p) {
         p.strategy.data = p.strategy.pipeline = 2;
         p.training.micro_batch = 1;
         p.strategy.replica_micro_batches = "1,7";
     }},
    {"UnequalSharesInterleavedTensor2",
     [](Plan& p) {
         p.strategy.tensor = p.strategy.data = p.strategy.pipeline = p.strategy.virtual_pipeline = 2;
         p.training.micro_batch = 1;
         p.strategy.schedule = ScheduleKind::interleaved;
         p.strategy.replica_micro_batches = "6,2";
     }},
    {"Tensor2Data2", [](Plan& p) { p.strategy.tensor = p.strategy.data = 2; }},
    {"Sequence2Zero1",
     [](Plan& p) {
         p.strategy.tensor = p.strategy.data = 2;
         p.strategy.sequence_parallel = true;
         p.strategy.sharding = Sharding::zero1;
     }},
};

/// Ranks keep shares of gradients, or of weights too.
void shares(Plan& p, Sharding sharding, std::uint32_t data = 2) {
    p.strategy.data = data;
    p.strategy.sharding = sharding;
}
void in_buckets(Plan& p) {
    p.strategy.overlap_grad_reduce = true;
    p.strategy.bucket_bytes = 6000;
}

const Case gradient_share_cases[]{
    {"Zero2", [](Plan& p) { shares(p, Sharding::zero2); }},
    {"Zero2Overlap",
     [](Plan& p) {
         shares(p, Sharding::zero2, 4);
         in_buckets(p);
         p.strategy.overlap_param_gather = true;
     }},
    {"Zero2InTwoGroups",
     [](Plan& p) {
         shares(p, Sharding::zero2, 4);
         p.strategy.optimizer_instances = 2;
     }},
    {"Zero2UnfusedAccumulation",
     [](Plan& p) {
         shares(p, Sharding::zero2);
         p.training.gradient_accumulation_fusion = false;
         p.training.micro_batch = 1;
     }},
    {"Zero2Sequence2",
     [](Plan& p) {
         shares(p, Sharding::zero2);
         in_buckets(p);
         p.strategy.tensor = 2;
         p.strategy.sequence_parallel = true;
     }},
    {"Zero2Pipeline2",
     [](Plan& p) {
         shares(p, Sharding::zero2);
         p.strategy.pipeline = 2;
     }},
    {"Zero2Interleaved",
     [](Plan& p) {
         shares(p, Sharding::zero2);
         in_buckets(p);
         p.strategy.pipeline = p.strategy.virtual_pipeline = 2;
         p.strategy.schedule = ScheduleKind::interleaved;
     }},
};

const Case weight_share_cases[]{
    {"Zero3", [](Plan& p) { shares(p, Sharding::zero3); }},
    {"Zero3Overlap",
     [](Plan& p) {
         shares(p, Sharding::zero3, 4);
         in_buckets(p);
     }},
    {"Zero3BucketOfEachLayer",
     [](Plan& p) {
         shares(p, Sharding::zero3);
         in_buckets(p);
         p.strategy.bucket_bytes = 1;
     }},
    {"Hybrid",
     [](Plan& p) {
         shares(p, Sharding::zero3, 4);
         in_buckets(p);
         p.strategy.optimizer_instances = 2;
     }},
    {"Zero3FullRecompute",
     [](Plan& p) {
         shares(p, Sharding::zero3);
         p.strategy.recompute = Recompute::full;
     }},
    {"Zero3Sequence2",
     [](Plan& p) {
         shares(p, Sharding::zero3);
         in_buckets(p);
         p.strategy.tensor = 2;
         p.strategy.sequence_parallel = true;
     }},
    {"Zero3Offload",
     [](Plan& p) {
         shares(p, Sharding::zero3);
         p.strategy.cpu_offloading_num_layers = 2;
     }},
    {"Zero3Pipeline2",
     [](Plan& p) {
         shares(p, Sharding::zero3);
         p.strategy.pipeline = 2;
     }},
    {"Zero3Interleaved",
     [](Plan& p) {
         shares(p, Sharding::zero3);
         in_buckets(p);
         p.strategy.pipeline = p.strategy.virtual_pipeline = 2;
         p.strategy.schedule = ScheduleKind::interleaved;
         p.strategy.overlap_p2p = true;
     }},
    {"Zero3ZeroBubble",
     [](Plan& p) {
         shares(p, Sharding::zero3);
         in_buckets(p);
         p.strategy.pipeline = 2;
         p.strategy.schedule = ScheduleKind::zb_h1;
     }},
};

INSTANTIATE_TEST_SUITE_P(Gradients, EveryMesh, testing::ValuesIn(gradient_share_cases), name_of);
INSTANTIATE_TEST_SUITE_P(Gradients, InSixteenBits, testing::ValuesIn(gradient_share_cases), name_of);
INSTANTIATE_TEST_SUITE_P(Weights, EveryMesh, testing::ValuesIn(weight_share_cases), name_of);
INSTANTIATE_TEST_SUITE_P(Weights, InSixteenBits, testing::ValuesIn(weight_share_cases), name_of);
INSTANTIATE_TEST_SUITE_P(Data, EveryMesh, testing::ValuesIn(data_cases), name_of);
INSTANTIATE_TEST_SUITE_P(Data, InSixteenBits, testing::ValuesIn(data_cases), name_of);

}  // namespace
}  // namespace orrery::run
