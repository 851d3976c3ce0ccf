// Which plans with products in fp8 are executed.
#include <gtest/gtest.h>

#include "tests/gpu/narrow_plan.hpp"
#include "tests/run/refusal.hpp"

namespace orrery::run {
namespace {

using strategies::Fp8Recipe;
using strategies::Plan;

struct Refused {
    const char* pointer;
    void (*change)(Plan&);
};

const Refused cases[] = {
    {"/training/precision", [](Plan& p) { p.training.precision.compute = kernels::Dtype::fp4; }},
    {"/training/precision", [](Plan& p) { p.model.qk_norm = true; }},
    {"/training/fp8_recipe", [](Plan& p) { p.training.fp8_recipe = Fp8Recipe::delayed; }},
    {"/training/fp8_recipe", [](Plan& p) { p.training.fp8_recipe = Fp8Recipe::blockwise; }},
    {"/training/software", [](Plan& p) { p.training.software = hardware::Software::megatron_lm; }},
    {"/training/fp8_param_gather", [](Plan& p) { p.training.fp8_param_gather = true; }},
    {"/training/disable_parameter_transpose_cache", [](Plan& p) { p.training.no_transpose_cache = true; }},
    {"/training/fp8_dot_product_attention", [](Plan& p) { p.training.fp8_attention = true; }},
    {"/training/activation_func_fp8_input_store", [](Plan& p) { p.training.fp8_function_input = true; }},
    {"/model/num_experts",
     [](Plan& p) {
         p.model.experts = 4;
         p.model.experts_per_token = 1;
         p.model.expert_ffn = 32;
     }},
    {"/strategy/sequence_parallel",
     [](Plan& p) {
         p.strategy.tensor = 2;
         p.strategy.sequence_parallel = true;
         p.training.software = hardware::Software::transformer_engine;
     }},
    {"/strategy/sharding",
     [](Plan& p) {
         p.strategy.data = 2;
         p.strategy.sharding = strategies::Sharding::zero3;
     }},
    {"/strategy/schedule",
     [](Plan& p) {
         p.strategy.pipeline = 2;
         p.strategy.schedule = strategies::ScheduleKind::pipedream_2bw;
     }},
};

TEST(NarrowSupport, TakesScalesOfEachTensorsOwn) {
    Plan plan = narrow_plan(small_gpt());
    EXPECT_NO_THROW(require_executable(plan));
    plan.training.software = hardware::Software::transformer_engine;
    EXPECT_NO_THROW(require_executable(plan));
    plan.training.precision.grad_reduce = kernels::Dtype::bf16;
    EXPECT_NO_THROW(require_executable(plan));
    for (const Refused& one : cases) {
        SCOPED_TRACE(one.pointer);
        plan = narrow_plan(small_gpt());
        one.change(plan);
        EXPECT_EQ(refusal(plan), one.pointer);
    }
}

}  // namespace
}  // namespace orrery::run
