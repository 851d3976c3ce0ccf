// Copies of gradients that DistributedDataParallel reduces, where gradients are no views of its buckets.
#include "strategies/bucket_copies.hpp"

#include <gtest/gtest.h>

#include "strategies/build.hpp"
#include "strategies/memory.hpp"
#include "strategies/state_bytes.hpp"
#include "tests/strategies/tiny_plan.hpp"

namespace orrery::strategies {
namespace {

/// On so many data ranks, buckets of about a layer.
Plan views(std::uint32_t data) {
    Plan plan = tiny_plan(1, 1, data);
    plan.training.precision = {.compute = kernels::Dtype::bf16, .grad_reduce = kernels::Dtype::fp32};
    plan.strategy.overlap_grad_reduce = true;
    plan.strategy.bucket_bytes = 100'000;
    return plan;
}

Plan copies(std::uint32_t data) {
    Plan plan = views(data);
    plan.training.gradient_as_bucket_view = false;
    return plan;
}

struct Counted {
    std::size_t kernels = 0;
    std::uint64_t numbers = 0;
};

Counted copied(const StepProgram& step, std::string_view name) {
    Counted sum;
    for (const Program& program : step.programs)
        for (const Op& op : program.ops) {
            const auto* compute = std::get_if<Compute>(&op.what);
            if (compute == nullptr || step.names[op.label.name] != name) continue;
            EXPECT_EQ(op.lane, Lane::compute);
            ++sum.kernels;
            const auto& kernel = std::get<kernels::Pointwise>(step.kernels[compute->kernel]);
            sum.numbers += kernel.rows * kernel.cols;
        }
    return sum;
}

TEST(BucketCopies, EachParameterGoesThereAndComesBackOnceAStep) {
    const StepProgram step = build(copies(4));
    EXPECT_EQ(verify(step), std::vector<std::string>{});
    const Counted into = copied(step, "gradients to bucket"), out = copied(step, "gradients from bucket");
    EXPECT_EQ(into.numbers, copied(build(views(4)), "zero gradients").numbers);
    EXPECT_EQ(out.numbers, into.numbers);
    EXPECT_EQ(out.kernels, into.kernels);
    EXPECT_GT(into.kernels, 4U * 8U) << "weights and biases of four layers";
}

TEST(BucketCopies, BucketsLastBesideGradients) {
    const std::uint64_t parameters = copied(build(views(4)), "zero gradients").numbers;
    const std::uint64_t with = memory(build(copies(4)), 0).peak, without = memory(build(views(4)), 0).peak;
    EXPECT_EQ(with - without, parameters * state_bytes(views(4).training).gradient);
}

TEST(BucketCopies, ThereAreNoneWhereNothingIsReducedAsAWhole) {
    for (const Plan& plan : {copies(1), [] {
                                 Plan sharded = copies(4);
                                 sharded.strategy.sharding = Sharding::zero2;
                                 return sharded;
                             }()}) {
        EXPECT_FALSE(copies_into_buckets(plan));
        EXPECT_EQ(copied(build(plan), "gradients to bucket").kernels, 0U);
    }
}

/// Gradients that come and go are still copied into buckets that do not.
TEST(BucketCopies, GoWithGradientsThatComeAndGo) {
    Plan plan = copies(4);
    plan.training.global_batch = plan.training.micro_batch * 4;
    plan.training.zero_grad_set_to_none = true;
    const StepProgram step = build(plan);
    EXPECT_EQ(verify(step), std::vector<std::string>{});
    EXPECT_EQ(copied(step, "zero gradients").kernels, 0U) << "there is nothing to zero";
    EXPECT_GT(copied(step, "gradients to bucket").kernels, 0U);
    const std::uint64_t parameters = copied(build(views(4)), "zero gradients").numbers;
    Plan in_place = plan;
    in_place.training.gradient_as_bucket_view = true;
    EXPECT_EQ(memory(step, 0).after_backward - memory(build(in_place), 0).after_backward,
              parameters * state_bytes(plan.training).gradient)
        << "gradients are there until the update has read them";
}

/// Of experts each in their own bucket, and none where no other rank holds them.
TEST(BucketCopies, OfExpertsAreThoseThatAreReduced) {
    for (const std::uint32_t expert : {1U, 2U, 4U}) {
        Plan plan = moe_plan(1, 1, 4, expert);
        plan.strategy.overlap_grad_reduce = true;
        plan.training.gradient_as_bucket_view = false;
        const StepProgram step = build(plan);
        EXPECT_EQ(verify(step), std::vector<std::string>{});
        const Program& program = step.programs.front();
        std::vector<bool> written(program.buffers.size());
        std::uint64_t reduced = 0;
        for (const Op& op : program.ops) {
            for (const BufferId id : program.writes(op)) written[id] = true;
            const auto* collective = std::get_if<Collective>(&op.what);
            if (collective == nullptr || step.names[op.label.name] != "gradient reduction") continue;
            reduced += collective->bytes;
            for (const BufferId id : program.reads(op)) EXPECT_TRUE(written[id]) << "before it is formed";
        }
        EXPECT_EQ(copied(step, "gradients to bucket").numbers * state_bytes(plan.training).gradient, reduced);
        EXPECT_EQ(copied(step, "gradients from bucket").numbers, copied(step, "gradients to bucket").numbers);
    }
}

TEST(BucketCopies, OfEachMicroBatchWhereEachIsReduced) {
    Plan plan = copies(4);
    const std::uint64_t once = copied(build(plan), "gradients to bucket").numbers;
    plan.strategy.gradient_syncs = GradientSyncs::micro_batch;
    const StepProgram step = build(plan);
    EXPECT_EQ(verify(step), std::vector<std::string>{});
    EXPECT_EQ(copied(step, "gradients to bucket").numbers, once * plan.micro_batches());
    EXPECT_EQ(copied(step, "gradients from bucket").numbers, once * plan.micro_batches());
}

}  // namespace
}  // namespace orrery::strategies
