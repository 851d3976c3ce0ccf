// Plans of torch.distributed.tensor.parallel: inputs that each product exchanges for itself, and whole logits.
#include "strategies/pytorch_tensor.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "strategies/build.hpp"
#include "strategies/memory.hpp"
#include "strategies/step_program.hpp"
#include "tests/strategies/tiny_plan.hpp"

namespace orrery::strategies {
namespace {

using kernels::CollectiveKind;

/// A Llama on two tensor ranks whose queries, keys, values and gate are products of their own, as PyTorch runs it.
Plan apart() {
    Plan plan = tiny_plan(2);
    plan.model = tiny_llama();
    plan.training.software = hardware::Software::pytorch;
    plan.training.fused_attention = true;
    plan.training.fused_qkv = plan.training.fused_gate = false;
    plan.training.kernel_fusion = KernelFusion::operators;
    plan.training.cross_entropy = CrossEntropy::torch;
    plan.strategy.recompute_allgather = plan.strategy.async_tensor_allreduce = false;
    return plan;
}

Exchanged exchanged(const Plan& plan) { return exchanged(unrolled(build(plan)).programs[0]); }

/// Of a block queries, keys and values, and a gate and its neighbour: three more of each.
TEST(ProductInputs, AreGatheredAndTheirGradientsReducedForEachByItself) {
    Plan once = apart();
    once.strategy.sequence_parallel = true;
    Plan each = once;
    each.strategy.prepare_module_input = false;
    ASSERT_EQ(refused_at(each), "accepted");
    auto a = exchanged(once), b = exchanged(each);
    const std::uint64_t more = 3ULL * once.model.layers * once.micro_batches();
    const std::uint64_t bytes = more * once.rank_tokens() * once.model.hidden * 2;
    for (const CollectiveKind kind : {CollectiveKind::all_gather, CollectiveKind::reduce_scatter}) {
        EXPECT_EQ(b[kind].first - a[kind].first, more);
        EXPECT_EQ(b[kind].second - a[kind].second, bytes);
    }
    EXPECT_EQ(a[CollectiveKind::all_reduce], b[CollectiveKind::all_reduce]);
    EXPECT_GT(memory(build(each), 0).peak, memory(build(once), 0).peak) << "autograd keeps what each gathered";
    EXPECT_EQ(verify(build(each)), std::vector<std::string>{});
}

/// Without sequence parallelism there is nothing to gather, and each gradient is summed whole.
TEST(ProductInputs, OfWholeSequencesHaveTheirGradientsSummed) {
    const Plan once = apart();
    Plan each = once;
    each.strategy.prepare_module_input = false;
    auto a = exchanged(once), b = exchanged(each);
    const std::uint64_t more = 3ULL * once.model.layers * once.micro_batches();
    EXPECT_EQ(b[CollectiveKind::all_reduce].first - a[CollectiveKind::all_reduce].first, more);
    EXPECT_EQ(b.count(CollectiveKind::all_gather), a.count(CollectiveKind::all_gather));
    EXPECT_DOUBLE_EQ(kernel_flops(build(each)), kernel_flops(build(once)));
    EXPECT_EQ(memory(build(each), 0).peak, memory(build(once), 0).peak);
}

/// What is gathered is the same for all of them, so that a graph has it once; their gradients are not.
TEST(ProductInputs, AreGatheredOnceByTorchCompile) {
    Plan once = apart();
    once.strategy.sequence_parallel = true;
    once.training.kernel_fusion = KernelFusion::full;
    Plan each = once;
    each.strategy.prepare_module_input = false;
    auto a = exchanged(once), b = exchanged(each);
    EXPECT_EQ(a[CollectiveKind::all_gather], b[CollectiveKind::all_gather]);
    EXPECT_EQ(b[CollectiveKind::reduce_scatter].first - a[CollectiveKind::reduce_scatter].first,
              3ULL * once.model.layers * once.micro_batches());
}

TEST(ProductInputs, AreRefusedWhereNoneAreApart) {
    constexpr const char* key = "/strategy/tp_prepare_module_input";
    Plan plan = apart();
    plan.strategy.prepare_module_input = false;
    EXPECT_EQ(refused_at(plan), "accepted");
    plan.training.fused_qkv = true;
    EXPECT_EQ(refused_at(plan), "accepted") << "a gate is";
    plan.training.fused_gate = true;
    EXPECT_EQ(refused_at(plan), key);
    Plan parts = apart();
    parts.training.kernel_fusion = KernelFusion::full;
    parts.strategy.sequence_parallel = parts.strategy.tensor_comm_overlap = true;
    EXPECT_EQ(refused_at(parts), "accepted");
    parts.strategy.prepare_module_input = false;
    EXPECT_EQ(refused_at(parts), key);
}

/// All logits in 16 bits, once a micro-batch, in place of three numbers a token.
TEST(WholeLogits, AreGatheredAndTheirLossIsEachRanksOwn) {
    for (const CrossEntropy how : {CrossEntropy::in_place, CrossEntropy::torch, CrossEntropy::fused})
        for (const bool joined : {true, false}) {
            Plan parts = apart();
            parts.training.cross_entropy = how;
            parts.training.cross_entropy_fusion = joined;
            Plan whole = parts;
            whole.strategy.loss_parallel = false;
            ASSERT_EQ(refused_at(whole), "accepted");
            auto a = exchanged(parts), b = exchanged(whole);
            const std::uint64_t steps = whole.micro_batches();
            const std::uint64_t bytes = whole.rank_tokens() * whole.padded_vocab() * 2;
            EXPECT_EQ(b[CollectiveKind::all_gather].first - a[CollectiveKind::all_gather].first, steps);
            EXPECT_EQ(b[CollectiveKind::all_gather].second - a[CollectiveKind::all_gather].second, steps * bytes);
            EXPECT_EQ(a[CollectiveKind::all_reduce].first - b[CollectiveKind::all_reduce].first, 3 * steps);
            EXPECT_DOUBLE_EQ(kernel_flops(build(parts)), kernel_flops(build(whole))) << "products are shared as ever";
            EXPECT_GT(memory(build(whole), 0).peak, memory(build(parts), 0).peak);
            EXPECT_EQ(verify(build(whole)), std::vector<std::string>{});
        }
}

/// As in a search, which tries one tensor rank too.
TEST(PytorchTensor, OneRankHasNothingToExchange) {
    Plan plain = apart();
    plain.strategy.tensor = 1;
    Plan plan = plain;
    plan.strategy.loss_parallel = plan.strategy.prepare_module_input = false;
    EXPECT_EQ(refused_at(plan), "accepted");
    EXPECT_EQ(exchanged(plan), exchanged(plain));
    EXPECT_EQ(memory(build(plan), 0).peak, memory(build(plain), 0).peak);
}

TEST(WholeLogits, AreRefusedOfAGrid) {
    constexpr const char* key = "/strategy/loss_parallel";
    Plan plan = apart();
    plan.strategy.loss_parallel = false;
    plan.strategy.tensor = 4;
    plan.strategy.tensor_mode = TensorMode::two_d;
    EXPECT_EQ(refused_at(plan), key);
}

}  // namespace
}  // namespace orrery::strategies
