// A step that is recorded once and replayed trains as one that is queued each time: to the last bit, in every order
// that the graph's edges allow.
#include <gtest/gtest.h>

#include <array>

#include "kernels/device.hpp"
#include "tests/emulated/machine/graphs.hpp"
#include "tests/emulated/machine/machine.hpp"
#include "tests/emulated/machine/memory.hpp"
#include "tests/emulated/ranks.hpp"

namespace orrery::run {
namespace {

using strategies::Plan;
using strategies::Recompute;

/// One step as it is queued, one that is recorded, and replays.
constexpr std::uint32_t several = 5;

Plan recorded(Plan plan) {
    plan.training.cuda_graph = true;
    return plan;
}

class EmulatedGraphs : public testing::TestWithParam<Case> {
protected:
    static Plan plan() {
        Plan plan;
        GetParam().change(plan);
        return plan;
    }
};

TEST_P(EmulatedGraphs, TrainAsStepsThatAreQueued) {
    const Plan plan = this->plan();
    const auto living = [] { return std::array{emulated::living(emulated::Kind::device), emulated::living_graphs()}; };
    const auto before = living();
    const Ran queued = train_on_gpus(plan, {.steps = several});
    ASSERT_NE(queued.losses.back(), queued.losses.front());
    for (std::uint64_t seed = 1; seed <= 2; ++seed) {
        const Ran ran = train_on_gpus(recorded(plan), {.seed = seed,
                                                       .eagerness = eagernesses[seed % eagernesses.size()],
                                                       .steps = several,
                                                       .steps_only = seed % 2 == 0});
        SCOPED_TRACE(emulated::describe_setup());
        EXPECT_EQ(ran.losses, queued.losses);
        EXPECT_EQ(ran.skipped, queued.skipped);
        EXPECT_EQ(ran.weights, queued.weights);
        for (const std::string& race : ran.races) ADD_FAILURE() << race;
    }
    EXPECT_EQ(living(), before);
}

/// Its first steps overflow: they change nothing, halve the scale, and Adam counts none of them.
void in_fp16(Plan& plan) {
    plan = wide(small_gpt());
    plan.model.hidden = 2 * 64;
    plan.model.heads = plan.model.kv_heads = 2;
    plan.model.head_dim = 64;
    plan.training.precision = {kernels::Dtype::fp16, kernels::Dtype::fp16};
    plan.training.loss_scaling = {.initial = 0x1p17, .hysteresis = 1};
}

const Case cases[]{
    {"Gpt", [](Plan& p) { p = wide(small_gpt()); }},
    {"Llama", [](Plan& p) { p = wide(small_llama()); }},
    {"WithoutClipping",
     [](Plan& p) {
         p = wide(small_llama());
         p.training.grad_clip = 0;
     }},
    {"ClippedByAdam",
     [](Plan& p) {
         p = wide(small_gpt());
         p.training.software = hardware::Software::orrery;
     }},
    {"Dropout",
     [](Plan& p) {
         p = wide(small_gpt());
         p.model.dropout = 0.2;
     }},
    {"DropoutOfScores",
     [](Plan& p) {
         p = wide(small_llama());
         p.model.dropout = 0.2;
         p.training.fused_attention = false;
         p.strategy.recompute = Recompute::selective;
     }},
    {"LossScaling", in_fp16},
    {"Offload",
     [](Plan& p) {
         p = wide(small_gpt());
         p.strategy.cpu_offloading_num_layers = 1;
     }},
    {"Experts",
     [](Plan& p) {
         p = wide(small_llama());
         p.model.experts = 8;
         p.model.experts_per_token = 2;
         p.model.expert_ffn = 40;
         p.model.moe_layer_freq = 1;
     }},
    {"Tensor", [](Plan& p) { p = tensor_parallel(); }},
    {"Pipeline", [](Plan& p) { p = pipeline(); }},
    {"Data", [](Plan& p) { p = data_parallel(); }},
    {"TensorAndPipeline", [](Plan& p) { p = tensor_and_pipeline(); }},
    {"DropoutsOfTensorRanks", [](Plan& p) { p = dropouts(); }},
};

INSTANTIATE_TEST_SUITE_P(Plans, EmulatedGraphs, testing::ValuesIn(cases),
                         [](const auto& instance) { return std::string(instance.param.name); });

TEST(EmulatedGraphSkips, AStepThatOverflowsChangesNothing) {
    Plan plan;
    in_fp16(plan);
    const Ran ran = train_on_gpus(recorded(plan), {.steps = several});
    EXPECT_TRUE(ran.skipped.front());
    EXPECT_FALSE(ran.skipped.back()) << testing::PrintToString(ran.skipped);
}

/// Of a lane for another, as the step is recorded.
TEST(EmulatedGraphRaces, ALostWaitIsSeen) {
    const Plan plan = recorded(data_parallel());
    const std::uint64_t waits = train_on_gpus(plan, {.steps = 1}).waits;
    ASSERT_GT(waits, 4u);
    std::uint64_t seen = 0;
    for (std::uint64_t lost = 0; lost < waits; ++lost) {
        try {
            const Ran ran = train_on_gpus(plan, {.seed = 1 + lost, .steps = 2, .forget = waits + lost});
            seen += ran.races.empty() ? 0 : 1;
        } catch (const kernels::DeviceError&) {
            ++seen;  // what came too early is not a number
        }
    }
    EXPECT_GT(seen, 0u) << "of " << waits << " waits";
}

}  // namespace
}  // namespace orrery::run
