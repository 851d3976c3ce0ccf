// Every schedule of pipeline stages.
#include "tests/run/every_mesh.hpp"

namespace orrery::run {
namespace {

using strategies::Plan;
using strategies::Recompute;
using strategies::ScheduleKind;
using strategies::Sharding;

const Case pipeline_cases[]{
    {"Pipeline2", [](Plan& p) { p.strategy.pipeline = 2; }},
    {"Pipeline4GPipe",
     [](Plan& p) {
         p.strategy.pipeline = 4;
         p.strategy.schedule = ScheduleKind::gpipe;
     }},
    {"Pipeline2Unequal",
     [](Plan& p) {
         p.strategy.pipeline = 2;
         p.strategy.first_stage_layers = 1;
     }},
    {"Pipeline4EmbeddingAndLossAlone",
     [](Plan& p) {
         p.strategy.pipeline = 4;
         p.strategy.pipeline_layers = "0,2,2,0";
     }},
    {"InterleavedEmbeddingAndLossAsLayers",
     [](Plan& p) {
         p.strategy.pipeline = 2;
         p.strategy.virtual_pipeline = 3;
         p.strategy.schedule = ScheduleKind::interleaved;
         p.strategy.embedding_as_layer = p.strategy.loss_as_layer = true;
     }},
    {"Interleaved",
     [](Plan& p) {
         p.strategy.pipeline = p.strategy.virtual_pipeline = 2;
         p.strategy.schedule = ScheduleKind::interleaved;
     }},
    {"InterleavedOverlap",
     [](Plan& p) {
         p.strategy.pipeline = p.strategy.virtual_pipeline = 2;
         p.strategy.schedule = ScheduleKind::interleaved;
         p.strategy.overlap_p2p = true;
         p.training.micro_batch = 1;
     }},
    {"Tensor2Pipeline2", [](Plan& p) { p.strategy.tensor = p.strategy.pipeline = 2; }},
    {"Tensor2Pipeline2Whole",
     [](Plan& p) {
         p.strategy.tensor = p.strategy.pipeline = 2;
         p.strategy.scatter_gather = false;
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

/// With its backward in two parts.
void zero_bubble(Plan& p, std::uint32_t stages) {
    p.strategy.pipeline = stages;
    p.strategy.schedule = ScheduleKind::zb_h1;
}

const Case split_cases[]{
    {"Pipeline2", [](Plan& p) { zero_bubble(p, 2); }},
    {"Pipeline4MoreMicroBatches",
     [](Plan& p) {
         zero_bubble(p, 4);
         p.training.micro_batch = 1;
     }},
    {"UnfusedAccumulation",
     [](Plan& p) {
         zero_bubble(p, 2);
         p.training.gradient_accumulation_fusion = false;
     }},
    {"SelectiveRecompute",
     [](Plan& p) {
         zero_bubble(p, 2);
         p.strategy.recompute = Recompute::selective;
     }},
    {"Sequence2",
     [](Plan& p) {
         zero_bubble(p, 2);
         p.strategy.tensor = 2;
         p.strategy.sequence_parallel = true;
     }},
    {"Zero1Overlap",
     [](Plan& p) {
         zero_bubble(p, 2);
         p.strategy.data = 2;
         p.strategy.sharding = Sharding::zero1;
         p.strategy.overlap_grad_reduce = p.strategy.overlap_param_gather = true;
         p.strategy.bucket_bytes = 6000;
     }},
    {"EmbeddingAndLossAlone",
     [](Plan& p) {
         zero_bubble(p, 4);
         p.strategy.pipeline_layers = "0,2,2,0";
     }},
};

INSTANTIATE_TEST_SUITE_P(Pipeline, EveryMesh, testing::ValuesIn(pipeline_cases), name_of);
INSTANTIATE_TEST_SUITE_P(Pipeline, InSixteenBits, testing::ValuesIn(pipeline_cases), name_of);
INSTANTIATE_TEST_SUITE_P(ZeroBubble, EveryMesh, testing::ValuesIn(split_cases), name_of);
INSTANTIATE_TEST_SUITE_P(ZeroBubble, InSixteenBits, testing::ValuesIn(split_cases), name_of);

}  // namespace
}  // namespace orrery::run
