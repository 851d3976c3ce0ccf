// What PyTorch's modules and their parallel ranks do that cannot be executed.
#include <gtest/gtest.h>

#include "tests/run/refusal.hpp"
#include "tests/run/small_models.hpp"

namespace orrery::run {
namespace {

using strategies::Plan;

/// Keys that say how products stand apart say nothing of a model that has none to part.
TEST(Support, RefusesProductsApartWhereThereAreSuch) {
    Plan gpt = plan_of(small_gpt()), llama = plan_of(small_llama());
    gpt.training.fused_gate = false;
    gpt.training.enable_gqa = false;
    EXPECT_EQ(refusal(gpt), "");
    gpt.training.fused_qkv = false;
    EXPECT_EQ(refusal(gpt), "/training/fuse_attention_qkv");
    EXPECT_EQ(refusal(llama), "");
    Plan gate = llama, copies = llama;
    gate.training.fused_gate = false;
    EXPECT_EQ(refusal(gate), "/training/fuse_attention_ffn");
    copies.training.enable_gqa = false;
    EXPECT_EQ(refusal(copies), "/training/enable_gqa");
    Plan complex = llama;
    complex.training.complex_rope = true;
    EXPECT_EQ(refusal(complex), "/training/complex_rope");
}

/// Of tensor ranks where they divide sequences, and of context ranks that exchange keys.
TEST(Support, RefusesWhatRanksOfPyTorchDo) {
    Plan kept = plan_of(small_llama());
    kept.strategy.recompute_allgather = false;
    kept.strategy.batch_first = kept.strategy.templated_ring = true;
    EXPECT_EQ(refusal(kept), "");
    Plan ring = kept;
    kept.strategy.tensor = 2;
    EXPECT_EQ(refusal(kept), "");
    kept.strategy.sequence_parallel = true;
    EXPECT_EQ(refusal(kept), "/strategy/tp_recompute_allgather");
    kept.strategy.recompute_allgather = true;
    EXPECT_EQ(refusal(kept), "/strategy/batch_first");
    kept.strategy.batch_first = false;
    EXPECT_EQ(refusal(kept), "");
    kept.strategy.loss_parallel = false;
    EXPECT_EQ(refusal(kept), "/strategy/loss_parallel");
    ring.strategy.context = 2;
    EXPECT_EQ(refusal(ring), "/strategy/templated_ring_attention");
    ring.strategy.context_exchange = strategies::ContextExchange::a2a;
    EXPECT_EQ(refusal(ring), "");
}

}  // namespace
}  // namespace orrery::run
