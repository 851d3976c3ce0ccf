// Bytes that parallelism moves, against the papers' counts.
#include <gtest/gtest.h>

#include <map>

#include "models/operators.hpp"
#include "strategies/build.hpp"
#include "strategies/layer_blocks.hpp"
#include "strategies/stage.hpp"
#include "tests/strategies/tiny_plan.hpp"

namespace orrery::strategies {
namespace {

using kernels::CollectiveKind;

constexpr std::uint64_t residual_bytes = 128 * 2 * 64 * 2;  // s b h in bf16

struct Count {
    std::uint32_t calls = 0;
    std::uint64_t bytes = 0;
    double wire = 0;
    bool operator==(const Count&) const = default;
};
using Counts = std::map<CollectiveKind, Count>;

Counts collectives(const Program& program, AxisSet group, std::uint32_t ranks) {
    Counts counts;
    for (const Op& op : program.ops)
        if (const auto* c = std::get_if<Collective>(&op.what); c != nullptr && c->group == group) {
            Count& count = counts[c->kind];
            ++count.calls;
            count.bytes += c->bytes;
            count.wire += kernels::bus_factor(c->kind, ranks) * static_cast<double>(c->bytes);
        }
    return counts;
}

double wire(const Counts& counts) {
    double sum = 0;
    for (const auto& [kind, count] : counts) sum += count.wire;
    return sum;
}

struct LayerCounts {
    Counts forward, backward;
};
LayerCounts layer(const Plan& plan, Recompute recompute = Recompute::none) {
    StepProgram step;
    Intern intern(step);
    const LayerBlocks blocks =
        add_blocks(step, intern, shard(models::build(plan.model).layer("block"), plan), recompute);
    const std::uint32_t t = plan.strategy.tensor;
    return {collectives(step.blocks[blocks.forward], {Axis::tensor}, t),
            collectives(step.blocks[blocks.backward], {Axis::tensor}, t)};
}

/// Shoeybi et al. 2019, section 3: two all-reduces forward, two backward.
TEST(Communication, TensorParallelLayer) {
    const LayerCounts counts = layer(tiny_plan(4));
    ASSERT_EQ(counts.forward.size(), 1U);
    EXPECT_EQ(counts.forward.at(CollectiveKind::all_reduce).calls, 2U);
    EXPECT_EQ(counts.forward.at(CollectiveKind::all_reduce).bytes, 2 * residual_bytes);
    EXPECT_EQ(counts.backward, counts.forward);
}

TEST(Communication, OneTensorRankMovesNothing) {
    const LayerCounts counts = layer(tiny_plan(1));
    EXPECT_TRUE(counts.forward.empty());
    EXPECT_TRUE(counts.backward.empty());
}

/// Korthikanti et al. 2022, section 4.2.2: all-gather and reduce-scatter with the bytes of the all-reduces they
/// replace; backward, the parts of the two inputs that were not kept are gathered once more.
TEST(Communication, SequenceParallelLayer) {
    Plan plan = tiny_plan(4);
    const double all_reduces = wire(layer(plan).forward);
    plan.strategy.sequence_parallel = true;
    const LayerCounts counts = layer(plan);
    EXPECT_FALSE(counts.forward.contains(CollectiveKind::all_reduce));
    EXPECT_EQ(counts.forward.at(CollectiveKind::all_gather).calls, 2U);
    EXPECT_EQ(counts.forward.at(CollectiveKind::reduce_scatter).calls, 2U);
    EXPECT_DOUBLE_EQ(wire(counts.forward), all_reduces);
    EXPECT_EQ(counts.backward.at(CollectiveKind::reduce_scatter).calls, 2U);
    EXPECT_EQ(counts.backward.at(CollectiveKind::all_gather).calls, 4U);
    const double gathers = 2 * kernels::bus_factor(CollectiveKind::all_gather, 4) * residual_bytes;
    EXPECT_DOUBLE_EQ(wire(counts.backward), all_reduces + gathers);
}

/// GPT-NeoX adds attention and MLP before one all-reduce; backward, each of the two norms gets its gradient reduced.
TEST(Communication, ParallelResidualReducesTheSumOnce) {
    Plan plan = tiny_plan(4);
    plan.model.parallel_residual = true;
    EXPECT_EQ(layer(plan).forward.at(CollectiveKind::all_reduce).calls, 1U);
    EXPECT_EQ(layer(plan).backward.at(CollectiveKind::all_reduce).calls, 2U);
    plan.strategy.sequence_parallel = true;
    EXPECT_EQ(layer(plan).forward.at(CollectiveKind::all_gather).calls, 2U);
    EXPECT_EQ(layer(plan).forward.at(CollectiveKind::reduce_scatter).calls, 1U);
    EXPECT_EQ(layer(plan).backward.at(CollectiveKind::all_gather).calls, 3U);
}

TEST(Communication, FullRecomputationRepeatsTheForwardCollectives) {
    const LayerCounts once = layer(tiny_plan(2)), again = layer(tiny_plan(2), Recompute::full);
    EXPECT_EQ(again.backward.at(CollectiveKind::all_reduce).calls,
              once.forward.at(CollectiveKind::all_reduce).calls + once.backward.at(CollectiveKind::all_reduce).calls);
    EXPECT_EQ(layer(tiny_plan(2), Recompute::selective).backward, once.backward);
}

struct Messages {
    std::uint32_t forward = 0, backward = 0;
    std::uint64_t bytes = 0;
};
Messages sent(const Program& program) {
    Messages messages;
    for (const Op& op : program.ops)
        if (const auto* send = std::get_if<Send>(&op.what); send != nullptr && op.label.phase != Phase::gradient) {
            ++(send->delta > 0 ? messages.forward : messages.backward);
            messages.bytes += send->bytes;
        }
    return messages;
}

TEST(Communication, StagesSendOneTensorAMicroBatch) {
    const StepProgram step = build(tiny_plan(1, 4));
    for (std::uint32_t stage = 0; stage < 4; ++stage) {
        const Messages messages = sent(step.programs[stage]);
        EXPECT_EQ(messages.forward, stage < 3 ? 4U : 0U);
        EXPECT_EQ(messages.backward, stage > 0 ? 4U : 0U);
        EXPECT_EQ(messages.bytes, (messages.forward + messages.backward) * residual_bytes);
    }
}

/// SC'21, section 4.1: each of t tensor ranks sends its t-th and gathers the rest inside the node.
TEST(Communication, ScatterGatherSendsPartsOnly) {
    Plan plan = tiny_plan(4, 2);
    const auto first = [&] { return build(plan).programs[0]; };
    EXPECT_EQ(sent(first()).bytes, 4 * residual_bytes / 4);
    EXPECT_EQ(collectives(first(), {Axis::tensor}, 4).at(CollectiveKind::all_gather).calls, 4U);
    plan.strategy.scatter_gather = false;
    EXPECT_EQ(sent(first()).bytes, 4 * residual_bytes);
    EXPECT_TRUE(collectives(first(), {Axis::tensor}, 4).empty());
    plan.strategy.sequence_parallel = true;
    EXPECT_EQ(sent(first()).bytes, 4 * residual_bytes / 4);
    EXPECT_FALSE(collectives(first(), {Axis::tensor}, 4).contains(CollectiveKind::all_gather))
        << "the part is all that the stage holds";
}

/// Megatron-LM's allreduce_layernorm_grads: under sequence parallelism a rank's norms have seen only its tokens.
TEST(Communication, ReplicatedGradientsAreSummedUnderSequenceParallelism) {
    Plan plan = tiny_plan(2, 2);
    const auto summed = [&](std::uint32_t stage) {
        return collectives(build(plan).programs[stage], {Axis::tensor}, 2)[CollectiveKind::all_reduce].bytes;
    };
    EXPECT_EQ(summed(0), 0U);
    plan.strategy.sequence_parallel = true;
    const std::uint64_t hidden = plan.model.hidden, layers = plan.model.layers / 2;
    const std::uint64_t a_layer = 2 * 2 * hidden + 2 * hidden;  // two norms; the biases of projection and down
    const std::uint64_t gradient = kernels::size_of(plan.training.precision.grad_reduce);
    EXPECT_EQ(summed(0), (layers * a_layer + plan.model.max_positions * hidden) * gradient);
    EXPECT_EQ(summed(1), (layers * a_layer + 2 * hidden) * gradient) << "the final norm";
}

/// SC'21, section 2.2.2: interleaving multiplies the messages by the chunks; the last stage hands on to the first.
TEST(Communication, InterleavingSendsMore) {
    Plan plan = tiny_plan(1, 2);
    plan.strategy.schedule = ScheduleKind::interleaved;
    plan.strategy.virtual_pipeline = 2;
    const StepProgram step = build(plan);
    EXPECT_EQ(sent(step.programs[0]).forward, 8U);
    EXPECT_EQ(sent(step.programs[1]).forward, 4U);
    EXPECT_EQ(sent(step.programs[1]).backward, 8U);
    EXPECT_EQ(sent(step.programs[0]).backward, 4U);
}

std::uint64_t stage_parameters(const Plan& plan, std::uint32_t stage) {
    StepProgram step;
    Intern intern(step);
    const ModelBlocks blocks = add_model_blocks(step, intern, plan);
    return place_layers(blocks, plan, stage).counts.trained;
}

TEST(Communication, GradientsAreReducedOverTheDataAxis) {
    for (const bool overlap : {false, true})
        for (const kernels::Dtype dtype : {kernels::Dtype::bf16, kernels::Dtype::fp32}) {
            Plan plan = tiny_plan(2, 2, 4);
            plan.strategy.overlap_grad_reduce = overlap;
            plan.strategy.bucket_bytes = 100'000;
            plan.training.precision.grad_reduce = dtype;
            for (std::uint32_t stage = 0; stage < 2; ++stage) {
                const Counts counts = collectives(build(plan).programs[stage], {Axis::data}, 4);
                ASSERT_EQ(counts.size(), 1U);
                const Count& count = counts.at(CollectiveKind::all_reduce);
                EXPECT_EQ(count.bytes, stage_parameters(plan, stage) * kernels::size_of(dtype));
                EXPECT_EQ(count.calls > 1, overlap);
            }
        }
}

/// Rajbhandari et al. 2020: optimizer sharding reduces to parts and gathers new weights, with the bytes of an
/// all-reduce.
TEST(Communication, ZeroOneScattersAndGathers) {
    for (const bool overlap : {false, true}) {
        Plan plan = tiny_plan(1, 2, 4);
        plan.strategy.sharding = Sharding::zero1;
        plan.strategy.overlap_grad_reduce = plan.strategy.overlap_param_gather = overlap;
        plan.strategy.bucket_bytes = 100'000;
        const Counts counts = collectives(build(plan).programs[1], {Axis::data}, 4);
        const std::uint64_t bytes = stage_parameters(plan, 1) * 2;
        EXPECT_EQ(counts.size(), 2U);
        EXPECT_EQ(counts.at(CollectiveKind::reduce_scatter).bytes, bytes);
        EXPECT_EQ(counts.at(CollectiveKind::all_gather).bytes, bytes);
        EXPECT_DOUBLE_EQ(wire(counts), kernels::bus_factor(CollectiveKind::all_reduce, 4) * static_cast<double>(bytes));
    }
}

TEST(Communication, TiedEmbeddingsAreSummedBetweenFirstAndLastStage) {
    Plan plan = tiny_plan(2, 4);
    const auto exchanged = [&](std::uint32_t stage) {
        std::uint64_t bytes = 0;
        const StepProgram step = build(plan);
        for (const Op& op : step.programs[stage].ops)
            if (const auto* send = std::get_if<Send>(&op.what); send != nullptr && op.label.phase == Phase::gradient)
                bytes += send->bytes;
        return bytes;
    };
    const std::uint64_t part = plan.padded_vocab() / 2 * plan.model.hidden * 2;
    EXPECT_EQ(exchanged(0), part);
    EXPECT_EQ(exchanged(1), 0U);
    EXPECT_EQ(exchanged(3), part);
    plan.model.tied_embeddings = false;
    EXPECT_EQ(exchanged(0), 0U);
}

}  // namespace
}  // namespace orrery::strategies
