// Programs of a schedule that forms gradients of weights apart from those of inputs.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "models/operators.hpp"
#include "strategies/build.hpp"
#include "strategies/memory.hpp"
#include "strategies/stage.hpp"
#include "tests/strategies/tiny_plan.hpp"

namespace orrery::strategies {
namespace {

Plan zero_bubble(std::uint32_t tensor, std::uint32_t pipeline) {
    Plan plan = tiny_plan(tensor, pipeline);
    plan.strategy.schedule = ScheduleKind::zb_h1;
    plan.training.global_batch = plan.training.micro_batch * 8;
    return plan;
}

/// Kernels and collectives, and how often they run.
std::map<std::string, int> works(const StepProgram& step, const Program& block) {
    std::map<std::string, int> counts;
    for (const Op& op : block.ops) ++counts[step.names[op.label.name]];
    return counts;
}

/// The two gradients are the backward, in two parts: nothing is lost and nothing is done twice.
TEST(ZeroBubble, TwoGradientsAreOneBackward) {
    for (const auto& model : {tiny_gpt(), tiny_llama(), tiny_bert()})
        for (const Recompute recompute : {Recompute::none, Recompute::selective})
            for (const bool sequence_parallel : {false, true}) {
                Plan plan = zero_bubble(2, 1);
                plan.model = model;
                plan.strategy.sequence_parallel = sequence_parallel;
                StepProgram step;
                Intern intern(step);
                const ShardedLayer layer = shard(models::build(plan.model).layer("block"), plan);
                const LayerBlocks one = add_blocks(step, intern, layer, recompute),
                                  two = add_blocks(step, intern, layer, recompute, Backwards::split);
                auto sum = works(step, step.blocks[two.input_gradient]);
                for (const auto& [name, count] : works(step, step.blocks[two.weight_gradient])) {
                    EXPECT_EQ(sum.count(name), 0U) << name << " in both";
                    sum[name] += count;
                }
                EXPECT_EQ(sum, works(step, step.blocks[one.backward])) << model.name;
                EXPECT_EQ(one.saved_bytes, two.saved_bytes);
            }
}

/// Qi et al. 2023, table 1: a layer's weight gradients need 32 s b h bytes in 16 bits, its backward 34 s b h and
/// attention.
TEST(ZeroBubble, WeightGradientsNeedWhatThePaperCounts) {
    Plan plan = zero_bubble(1, 1);
    const std::uint64_t sbh = std::uint64_t{plan.training.seq} * plan.training.micro_batch * plan.model.hidden;
    const ShardedLayer layer = shard(models::build(plan.model).layer("block"), plan);
    EXPECT_EQ(layer.weight_saved_bytes() + layer.output_gradient_bytes(), 32 * sbh);
}

/// A stage of ZB-H1 takes no more than 1F1B's first stage: micro-batches whose weight gradient is put off keep less
/// than those that still wait for their input gradient. What a layer's input gradient adds for its weight gradients
/// comes before the rest can go. (The last stage has the logits beside its layers.)
TEST(ZeroBubble, TakesNoMoreMemoryThanOneForwardOneBackward) {
    Plan plan = zero_bubble(1, 4);
    const auto activations = [](const Plan& of) {
        std::vector<std::uint64_t> peaks;
        const StepProgram step = build(of);
        for (std::uint32_t stage = 0; stage + 1 < step.programs.size(); ++stage)
            peaks.push_back(memory(step, stage).at_peak[static_cast<std::size_t>(Keep::activation)]);
        return peaks;
    };
    const auto put_off = activations(plan);
    plan.strategy.schedule = ScheduleKind::one_f_one_b;
    const std::uint64_t most = activations(plan).front();
    const std::uint64_t layer = shard(models::build(plan.model).layer("block"), plan).output_gradient_bytes();
    for (const std::uint64_t peak : put_off) {
        EXPECT_LE(peak, most + layer);
        EXPECT_GT(peak, most * 3 / 4);
    }
}

/// What modules that run again bring back before the input's gradient stays for the weights': nothing is kept of it
/// before. Work is that of one backward.
TEST(ZeroBubble, ModulesRunAgainBeforeTheFirstOfTwoGradients) {
    for (const char* names : {"layernorm", "mlp", "core_attn,layernorm,mlp"}) {
        Plan plan = zero_bubble(2, 4);
        plan.strategy.recompute = Recompute::selective;
        plan.strategy.recompute_modules = names;
        validate(plan);
        const ShardedLayer layer = shard(models::build(plan.model).layer("block"), plan);
        StepProgram step;
        Intern intern(step);
        const LayerBlocks all = add_blocks(step, intern, layer, Recompute::none, Backwards::split),
                          one = add_blocks(step, intern, layer, plan.strategy.again()),
                          two = add_blocks(step, intern, layer, plan.strategy.again(), Backwards::split);
        EXPECT_EQ(one.saved_bytes, two.saved_bytes) << names;
        EXPECT_LT(two.weight_saved_bytes, all.weight_saved_bytes) << names;
        EXPECT_EQ(two.weight_saved_bytes + two.left_for_weights, all.weight_saved_bytes + all.left_for_weights);
        auto sum = works(step, step.blocks[two.input_gradient]);
        for (const auto& [name, count] : works(step, step.blocks[two.weight_gradient])) sum[name] += count;
        EXPECT_EQ(sum, works(step, step.blocks[one.backward])) << names;
        const StepProgram again = build(plan);
        EXPECT_EQ(verify(again), std::vector<std::string>{});
        plan.strategy.recompute = Recompute::none;
        plan.strategy.recompute_modules.clear();
        const auto held = [](const StepProgram& of) {
            return memory(of, 0).at_peak[static_cast<std::size_t>(Keep::activation)];
        };
        EXPECT_LT(held(again), held(build(plan))) << names;
    }
}

TEST(ZeroBubble, MemoryIsGivenBackPartByPart) {
    const Plan plan = zero_bubble(1, 4);
    const StepProgram step = build(plan);
    const Program& last = step.programs.back();
    // The last stage puts off three weight gradients: their inputs and outputs' gradients wait, the rest is gone.
    const ShardedLayer layer = shard(models::build(plan.model).layer("block"), plan),
                       head = shard(models::build(plan.model).layer("head"), plan);
    const auto bytes = [](const ShardedLayer& of) { return of.weight_saved_bytes() + of.output_gradient_bytes(); };
    std::uint64_t kept = 0;
    for (const Buffer& buffer : last.buffers)
        if (buffer.keep == Keep::activation) kept += buffer.bytes;
    EXPECT_EQ(kept, plan.micro_batches() * (layer.saved_bytes() + layer.output_gradient_bytes() + head.saved_bytes() +
                                            head.output_gradient_bytes()));
    EXPECT_GE(memory(step, 3).at_peak[static_cast<std::size_t>(Keep::activation)],
              3 * (bytes(layer) + bytes(head)) + layer.saved_bytes() + head.saved_bytes());
}

/// Qi et al. 2023, table 1: ZB-H2 keeps about 2 p - 1 micro-batches where ZB-H1 keeps p; steps follow each other, and
/// each updates its weights once, of which there is one version.
TEST(ZeroBubble, TheSecondKeepsTwiceAsMuch) {
    Plan plan = zero_bubble(1, 4);
    plan.training.global_batch = 16 * plan.training.micro_batch;
    plan.model.tied_embeddings = false;
    const auto of_role = [](const StepProgram& step, std::uint32_t role, Keep keep) {
        return static_cast<double>(memory(step, role).at_peak[static_cast<std::size_t>(keep)]);
    };
    const StepProgram first = build(plan);
    plan.strategy.schedule = ScheduleKind::zb_h2;
    plan.window_steps = 3;
    validate(plan);
    const StepProgram second = build(plan);
    EXPECT_EQ(verify(second), std::vector<std::string>{});
    EXPECT_EQ(second.steps, 3U);
    EXPECT_DOUBLE_EQ(kernel_flops(second), 3 * kernel_flops(first));
    for (std::uint32_t role = 0; role < 4; ++role) {
        const double ratio = of_role(second, role, Keep::activation) / of_role(first, role, Keep::activation);
        EXPECT_GT(ratio, 1.5) << role << ": what waits for its weight gradients keeps less";
        EXPECT_LT(ratio, 7.0 / 4 + 0.05) << role;
        EXPECT_EQ(of_role(second, role, Keep::weight), of_role(first, role, Keep::weight));
    }
    plan.training.global_batch = 6 * plan.training.micro_batch;
    EXPECT_EQ(refused_at(plan), "/training/global_batch_size") << "fewer than 2 p - 1";
}

/// With overlap_grad_reduce a bucket is reduced behind the weight gradient that completes it.
TEST(ZeroBubble, BucketsAreReducedBehindTheLastWeightGradients) {
    Plan plan = tiny_plan(1, 2, 2);
    plan.strategy.schedule = ScheduleKind::zb_h1;
    plan.strategy.overlap_grad_reduce = true;
    plan.strategy.bucket_bytes = 1;
    const StepProgram step = build(plan);
    for (const Program& program : step.programs) {
        std::size_t reductions = 0;
        const Op* before = nullptr;
        for (const Op& op : program.ops) {
            if (step.names[op.label.name] == "gradient reduction") {
                ++reductions;
                ASSERT_NE(before, nullptr);
                EXPECT_EQ(before->label.micro_batch, static_cast<std::int32_t>(plan.micro_batches()) - 1);
            }
            if (op.lane == Lane::compute) before = &op;
        }
        EXPECT_EQ(reductions, 3U) << "two layers, and the embedding or the head";
    }
}

}  // namespace
}  // namespace orrery::strategies
