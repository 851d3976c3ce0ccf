// Plans that cannot be executed are refused by key, before anything runs.
#include "run/support.hpp"

#include <gtest/gtest.h>

#include "base/error.hpp"

namespace orrery::run {
namespace {

using strategies::Plan;

struct Case {
    const char* pointer;
    void (*change)(Plan&);
};

Plan executable() {
    Plan plan;
    plan.training.precision = {kernels::Dtype::fp32, kernels::Dtype::fp32};
    return plan;
}

TEST(Support, TakesAPlainPlan) { EXPECT_NO_THROW(require_executable(executable())); }

TEST(Support, RefusesByKey) {
    const Case cases[]{
        {"/model/dropout", [](Plan& p) { p.model.dropout = 0.1; }},
        {"/model", [](Plan& p) { p.model.post_norm = true; }},
        {"/model/parallel_residual", [](Plan& p) { p.model.parallel_residual = true; }},
        {"/model/qk_norm", [](Plan& p) { p.model.qk_norm = true; }},
        {"/model/position", [](Plan& p) { p.model.position = models::PositionKind::alibi; }},
        {"/training/precision", [](Plan& p) { p.training.precision.compute = kernels::Dtype::bf16; }},
        {"/training/fused_attention", [](Plan& p) { p.training.fused_attention = false; }},
        {"/training/cuda_graph", [](Plan& p) { p.training.cuda_graph = true; }},
        {"/strategy/placement", [](Plan& p) { p.strategy.placement = "round-robin"; }},
        {"/strategy/sharding",
         [](Plan& p) {
             p.model.tied_embeddings = true;
             p.strategy.pipeline = p.strategy.data = 2;
             p.strategy.sharding = strategies::Sharding::zero1;
         }},
    };
    for (const Case& one : cases) {
        Plan plan = executable();
        one.change(plan);
        try {
            require_executable(plan);
            ADD_FAILURE() << one.pointer << " was taken";
        } catch (const Error& error) {
            EXPECT_EQ(error.pointer(), one.pointer);
            EXPECT_FALSE(error.hint().empty());
        }
    }
}

}  // namespace
}  // namespace orrery::run
