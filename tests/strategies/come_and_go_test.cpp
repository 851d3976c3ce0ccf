// Gradients that are there from their backward to the update alone, and the copy that torch.optim's foreach makes.
#include <gtest/gtest.h>

#include <algorithm>

#include "strategies/build.hpp"
#include "strategies/memory.hpp"
#include "strategies/state_bytes.hpp"
#include "tests/strategies/tiny_plan.hpp"

namespace orrery::strategies {
namespace {

/// Pure bf16 with one micro-batch a step, on so many data ranks.
Plan eager_plan(std::uint32_t data, Sharding sharding) {
    Plan plan = tiny_plan(1, 1, data);
    plan.training.precision = {kernels::Dtype::bf16, kernels::Dtype::bf16};
    plan.training.master_weights = false;
    plan.training.global_batch = plan.training.micro_batch * data;
    plan.strategy.sharding = sharding;
    plan.strategy.overlap_grad_reduce = data > 1;
    plan.strategy.bucket_bytes = 1024;
    plan.training.zero_grad_set_to_none = true;
    return plan;
}

std::uint64_t gradients_of(const Plan& plan) {
    std::uint64_t bytes = 0;
    for (const Buffer& buffer : build(plan).programs.front().buffers)
        if (buffer.keep == Keep::gradient) bytes += buffer.bytes;
    return bytes;
}

TEST(ComeAndGo, GradientsAreNotThereBeforeTheBackwardAndAllOfThemBehindIt) {
    for (const Sharding sharding : {Sharding::none, Sharding::zero1, Sharding::zero2, Sharding::zero3})
        for (const std::uint32_t data : {1U, 4U}) {
            if (data == 1 && sharding != Sharding::none) continue;
            const Plan plan = eager_plan(data, sharding);
            SCOPED_TRACE(testing::Message() << static_cast<int>(sharding) << " on " << data);
            Plan lasting = plan;
            lasting.training.zero_grad_set_to_none = false;
            const StepProgram step = build(plan);
            EXPECT_TRUE(verify(step).empty());
            const StageMemory now = memory(step, 0), before = memory(build(lasting), 0);
            std::uint64_t kept = 0;
            for (const Buffer& buffer : build(lasting).programs.front().buffers)
                if (buffer.keep == Keep::gradient && buffer.lifetime.span == Lifetime::Span::step) kept += buffer.bytes;
            ASSERT_GT(kept, 0U);
            EXPECT_EQ(before.before_backward - now.before_backward, kept);
            EXPECT_LE(now.peak, before.peak);
            EXPECT_LT(now.after_backward, before.after_backward) << "most activations are gone when the last one comes";
            EXPECT_LE(before.after_optimizer, now.after_optimizer + 64) << "all of them are there";
        }
}

TEST(ComeAndGo, WithSeveralMicroBatchesGradientsLast) {
    Plan plan = eager_plan(1, Sharding::none);
    plan.training.global_batch *= 2;
    Plan lasting = plan;
    lasting.training.zero_grad_set_to_none = false;
    EXPECT_EQ(memory(build(plan), 0).peak, memory(build(lasting), 0).peak);
    EXPECT_EQ(gradients_of(plan), gradients_of(lasting));
}

TEST(ComeAndGo, GradientsAreThereUntilTheUpdateHasReadThem) {
    Plan plan = eager_plan(1, Sharding::none);
    plan.model.layers = 1;
    plan.training.seq = 8;  // so that activations are few
    const std::uint64_t parameters = 2 * gradients_of(plan) / 2 / state_bytes(plan.training).gradient;
    plan.training.fused_optimizer = true;
    EXPECT_GE(memory(build(plan), 0).peak, parameters * (2 + 2 + 4)) << "weights, gradients and two moments";
    plan.training.fused_optimizer = false;
    const std::uint64_t one_by_one = memory(build(plan), 0).peak;
    plan.training.foreach_optimizer = true;
    const StepProgram step = build(plan);
    EXPECT_TRUE(verify(step).empty());
    EXPECT_GE(memory(step, 0).peak, parameters * (2 + 2 + 4 + 2)) << "and what an operation leaves to the next";
    EXPECT_GT(memory(step, 0).peak, one_by_one);
}

/// Autograd adds to a gradient that was there: to none of one micro-batch, but where several products form it.
TEST(ComeAndGo, NothingIsAddedToWhatWasNotThere) {
    const auto added = [](const Plan& of) {
        std::size_t sum = 0;
        const StepProgram step = build(of);
        for (const Program& block : step.blocks)
            sum += std::ranges::count_if(
                block.ops, [&](const Op& op) { return step.names[op.label.name].ends_with("accumulate"); });
        return sum;
    };
    Plan plan = eager_plan(1, Sharding::none);
    plan.training.gradient_accumulation_fusion = false;
    EXPECT_EQ(added(plan), 1U) << "the head's, whose words are the embedding's";
    plan.model.tied_embeddings = false;
    EXPECT_EQ(added(plan), 0U);
    plan.training.loss_chunks = 2;
    EXPECT_EQ(added(plan), 2U) << "a part's";
    plan.training.loss_chunks = 1;
    plan.training.zero_grad_set_to_none = false;
    EXPECT_GT(added(plan), 1U);
}

TEST(ComeAndGo, ForeachMovesAsManyBytesInFewerKernels) {
    Plan plan = eager_plan(1, Sharding::none);
    plan.training.fused_optimizer = false;
    plan.training.grad_clip = 0;
    const auto updates = [](const Plan& of) {
        const StepProgram step = build(of);
        std::pair<std::size_t, double> sum;  // kernels, numbers
        for (const Op& op : step.programs.front().ops)
            if (const auto* compute = std::get_if<Compute>(&op.what);
                compute != nullptr && op.label.phase == Phase::optimizer) {
                ++sum.first;
                const auto& kernel = std::get<kernels::Pointwise>(step.kernels[compute->kernel]);
                sum.second += static_cast<double>(kernel.rows * kernel.cols);
            }
        return sum;
    };
    const auto by_parameter = updates(plan);
    plan.training.foreach_optimizer = true;
    const auto at_once = updates(plan);
    EXPECT_LT(2 * at_once.first, by_parameter.first);
    EXPECT_NEAR(at_once.second, by_parameter.second, 0.02 * by_parameter.second);
}

TEST(ComeAndGo, ForeachIsRefusedWhereThereIsNone) {
    Plan plan = eager_plan(1, Sharding::none);
    plan.training.foreach_optimizer = true;
    EXPECT_EQ(refused_at(plan), "/training/foreach_optimizer") << "beside fused_optimizer";
    plan.training.fused_optimizer = false;
    EXPECT_EQ(refused_at(plan), "accepted");
    plan.training.optimizer = Optimizer::adafactor;
    EXPECT_EQ(refused_at(plan), "/training/foreach_optimizer");
}

}  // namespace
}  // namespace orrery::strategies
