// What of a plan's kernels can be executed: the others are refused by key.
#include "run/support.hpp"

#include <gtest/gtest.h>

#include "base/error.hpp"
#include "tests/run/small_models.hpp"

namespace orrery::run {
namespace {

using strategies::Plan;

/// The pointer of a refusal; empty: there was none.
std::string refusal(const Plan& plan) {
    try {
        require_executable(plan);
    } catch (const Error& error) {
        EXPECT_FALSE(error.hint().empty());
        return error.pointer();
    }
    return "";
}

/// Keys that say how products stand apart say nothing of a model that has none to part.
TEST(Support, RefusesProductsApartWhereThereAreSuch) {
    Plan gpt = plan_of(small_gpt()), llama = plan_of(small_llama());
    gpt.training.fused_gate = false;
    gpt.training.enable_gqa = false;
    EXPECT_EQ(refusal(gpt), "");
    gpt.training.fused_qkv = false;
    EXPECT_EQ(refusal(gpt), "/training/fuse_attention_qkv");
    EXPECT_EQ(refusal(llama), "");
    Plan gate = llama, copies = llama, kept = llama;
    gate.training.fused_gate = false;
    EXPECT_EQ(refusal(gate), "/training/fuse_attention_ffn");
    copies.training.enable_gqa = false;
    EXPECT_EQ(refusal(copies), copies.model.kv_heads < copies.model.heads ? "/training/enable_gqa" : "");
    kept.strategy.recompute_allgather = false;
    EXPECT_EQ(refusal(kept), "");
    kept.strategy.tensor = 2;
    kept.strategy.sequence_parallel = true;
    EXPECT_EQ(refusal(kept), "/strategy/tp_recompute_allgather");
}

}  // namespace
}  // namespace orrery::run
