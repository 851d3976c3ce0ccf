// Data ranks, and what they share.
#include "tests/run/every_mesh.hpp"

namespace orrery::run {
namespace {

using strategies::Plan;
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
    {"Tensor2Data2", [](Plan& p) { p.strategy.tensor = p.strategy.data = 2; }},
    {"Sequence2Zero1",
     [](Plan& p) {
         p.strategy.tensor = p.strategy.data = 2;
         p.strategy.sequence_parallel = true;
         p.strategy.sharding = Sharding::zero1;
     }},
};

INSTANTIATE_TEST_SUITE_P(Data, EveryMesh, testing::ValuesIn(data_cases), name_of);
INSTANTIATE_TEST_SUITE_P(Data, InSixteenBits, testing::ValuesIn(data_cases), name_of);

}  // namespace
}  // namespace orrery::run
