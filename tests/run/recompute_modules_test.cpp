// Modules of a layer that run again before their backward (strategy.recompute_modules); those of experts are held in
// experts_test.cpp.
#include "tests/run/agreement.hpp"
#include "tests/run/every_mesh.hpp"

namespace orrery::run {
namespace {

using strategies::Plan;
using strategies::Recompute;
using strategies::Sharding;

void again(Plan& p, const char* modules) {
    p.strategy.recompute = Recompute::selective;
    p.strategy.recompute_modules = modules;
}

const Case module_cases[]{
    {"Norms", [](Plan& p) { again(p, "layernorm"); }},
    {"Mlp", [](Plan& p) { again(p, "mlp"); }},
    {"AttentionAndMlp", [](Plan& p) { again(p, "core_attn,mlp"); }},
    {"All", [](Plan& p) { again(p, "core_attn,layernorm,mlp"); }},
    {"Sequence2",
     [](Plan& p) {
         again(p, "layernorm,mlp");
         p.strategy.tensor = 2;
         p.strategy.sequence_parallel = true;
     }},
    {"Tensor2Pipeline2",
     [](Plan& p) {
         again(p, "core_attn,layernorm,mlp");
         p.strategy.tensor = p.strategy.pipeline = 2;
     }},
    {"Pipeline2ZeroBubble",
     [](Plan& p) {
         again(p, "core_attn,layernorm,mlp");
         p.strategy.pipeline = 2;
         p.strategy.schedule = strategies::ScheduleKind::zb_h1;
     }},
    {"Data2Zero3",
     [](Plan& p) {
         again(p, "layernorm,mlp");
         p.strategy.data = 2;
         p.strategy.sharding = Sharding::zero3;
     }},
    {"EarlyStop",
     [](Plan& p) {
         p.strategy.recompute = strategies::Recompute::full;
         p.strategy.recompute_early_stop = true;
     }},
    {"EarlyStopOfModules",
     [](Plan& p) {
         again(p, "core_attn,layernorm,mlp");
         p.strategy.recompute_early_stop = true;
         p.strategy.tensor = 2;
     }},
    {"EarlyStopSequence2Data2Zero3",
     [](Plan& p) {
         p.strategy.recompute = strategies::Recompute::full;
         p.strategy.recompute_early_stop = true;
         p.strategy.tensor = p.strategy.data = 2;
         p.strategy.sequence_parallel = true;
         p.strategy.sharding = Sharding::zero3;
     }},
    {"Context2",
     [](Plan& p) {
         again(p, "core_attn,layernorm");
         p.strategy.context = 2;
         p.strategy.context_exchange = strategies::ContextExchange::all_gather;
     }},
};

INSTANTIATE_TEST_SUITE_P(Modules, EveryMesh, testing::ValuesIn(module_cases), name_of);
INSTANTIATE_TEST_SUITE_P(Modules, InSixteenBits, testing::ValuesIn(module_cases), name_of);

/// Four micro-batches in a pipeline keep their activations at once.
TEST(Modules, KeepLess) {
    Plan plan = plan_of(small_gpt());
    plan.strategy.pipeline = 2;
    const auto activations = [&] { return train(plan, fast(), 1).memory.front().activations; };
    const std::uint64_t all = activations();
    again(plan, "mlp");
    const std::uint64_t without_mlp = activations();
    again(plan, "core_attn,layernorm,mlp");
    EXPECT_LT(without_mlp, all);
    EXPECT_LT(activations(), without_mlp);
}

}  // namespace
}  // namespace orrery::run
