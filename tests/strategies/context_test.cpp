// Attention over sequences that context ranks share: what it computes, moves and keeps.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "base/error.hpp"
#include "models/operators.hpp"
#include "strategies/build.hpp"
#include "strategies/layer_blocks.hpp"
#include "tests/strategies/tiny_plan.hpp"

namespace orrery::strategies {
namespace {

using kernels::CollectiveKind;
using enum ContextExchange;

/// Sequences of 4,096 tokens, so that rounding is small.
Plan plan_of(std::uint32_t context, ContextExchange exchange = p2p) {
    Plan plan = tiny_plan(1, 1, 2);
    plan.training.seq = 4096;
    plan.training.fused_attention = true;
    plan.model.max_positions = 4096;
    plan.strategy.context = context;
    plan.strategy.context_exchange = exchange;
    if (exchange == a2a_p2p) plan.strategy.ulysses_degree = 2;
    return plan;
}

std::string refusal(const Plan& plan) {
    try {
        validate(plan);
        return {};
    } catch (const Error& error) {
        return std::string(error.pointer()) + ": " + error.message() + "; " + error.hint();
    }
}

struct Layer {
    explicit Layer(const Plan& plan) {
        Intern intern(step);
        blocks = add_blocks(step, intern, shard(models::build(plan.model).layer("block"), plan), Recompute::none);
    }
    /// Of attention kernels alone, or of all.
    [[nodiscard]] double flops(std::uint32_t block, bool attention) const {
        double sum = 0;
        for (const Op& op : step.blocks[block].ops)
            if (const auto* c = std::get_if<Compute>(&op.what)) {
                const kernels::Kernel& kernel = step.kernels[c->kernel];
                if (!attention || std::holds_alternative<kernels::Attention>(kernel)) sum += kernels::flops(kernel);
            }
        return sum;
    }
    [[nodiscard]] Exchanged moved(std::uint32_t block) const {
        return exchanged(step.blocks[block], AxisSet{Axis::context});
    }
    StepProgram step;
    LayerBlocks blocks;
};

/// Work is conserved: C ranks have each 1/C of what one has, exactly.
TEST(Context, RanksShareTheWorkEvenly) {
    const Layer one(plan_of(1));
    for (const ContextExchange exchange : {p2p, all_gather, a2a, a2a_p2p})
        for (const std::uint32_t ranks : {2U, 4U}) {
            if (exchange == a2a_p2p && ranks == 2) continue;
            const Layer shared(plan_of(ranks, exchange));
            for (const bool attention : {false, true}) {
                EXPECT_NEAR(
                    ranks * shared.flops(shared.blocks.forward, attention) / one.flops(one.blocks.forward, attention),
                    1, 1e-12);
                EXPECT_NEAR(
                    ranks * shared.flops(shared.blocks.backward, attention) / one.flops(one.blocks.backward, attention),
                    1, 1e-12);
            }
        }
}

/// Liu et al. 2023, section 3: keys and values pass C - 1 times; their gradients as often on the way back.
TEST(Context, ARingPassesKeysAndValuesOn) {
    const Plan plan = plan_of(4);
    const Layer layer(plan);
    const std::uint64_t keys = 2 * plan.rank_tokens() * plan.model.kv_heads * plan.model.head_dim * 2;
    EXPECT_EQ(layer.moved(layer.blocks.forward), (Exchanged{{CollectiveKind::send_recv, {3, 3 * keys}}}));
    EXPECT_EQ(layer.moved(layer.blocks.backward), (Exchanged{{CollectiveKind::send_recv, {4, 6 * keys}}}));
}

/// The exchanges of a ring run beside attention, and all of it is joined.
TEST(Context, ARingIsHiddenBehindAttention) {
    const Layer layer(plan_of(4));
    for (const std::uint32_t block : {layer.blocks.forward, layer.blocks.backward})
        for (const Op& op : layer.step.blocks[block].ops) {
            if (std::holds_alternative<Collective>(op.what)) {
                EXPECT_EQ(op.lane, Lane::tensor);
            }
        }
}

TEST(Context, GatheringMovesAllKeysOnceAndTwiceOnTheWayBack) {
    const Plan plan = plan_of(4, all_gather);
    const Layer layer(plan);
    const std::uint64_t keys =
        std::uint64_t{4096} * plan.training.micro_batch * plan.model.kv_heads * plan.model.head_dim * 2;
    EXPECT_EQ(layer.moved(layer.blocks.forward), (Exchanged{{CollectiveKind::all_gather, {2, 2 * keys}}}));
    EXPECT_EQ(layer.moved(layer.blocks.backward), (Exchanged{{CollectiveKind::all_gather, {2, 2 * keys}},
                                                             {CollectiveKind::reduce_scatter, {2, 2 * keys}}}));
}

/// Jacobs et al. 2023, section 3.2: queries, keys, values and results move once a pass.
TEST(Context, UlyssesExchangesHeads) {
    const Plan plan = plan_of(4, a2a);
    const Layer layer(plan);
    const std::uint64_t rows = plan.rank_tokens() * plan.model.head_dim * 2;
    const std::uint64_t all = rows * (2 * plan.model.heads + 2 * plan.model.kv_heads);
    EXPECT_EQ(layer.moved(layer.blocks.forward), (Exchanged{{CollectiveKind::all_to_all, {4, all}}}));
    EXPECT_EQ(layer.moved(layer.blocks.backward), layer.moved(layer.blocks.forward));
}

/// DeepSpeed's ulysses_sp.py: of two heads of keys and values four ranks take a copy each, and attention is of one.
TEST(Context, UlyssesCopiesHeadsOfKeysForRanksThatHaveNone) {
    Plan plan = plan_of(4, a2a);
    plan.model.kv_heads = 2;
    validate(plan);
    const Layer layer(plan);
    const std::uint64_t rows = plan.rank_tokens() * plan.model.head_dim * 2;
    const Exchanged moved{{CollectiveKind::all_to_all, {4, rows * (2 * plan.model.heads + 2 * 4)}}};
    EXPECT_EQ(layer.moved(layer.blocks.forward), moved);
    EXPECT_EQ(layer.moved(layer.blocks.backward), moved);
    for (const Op& op : layer.step.blocks[layer.blocks.forward].ops)
        if (const auto* compute = std::get_if<Compute>(&op.what))
            if (const auto* core = std::get_if<kernels::Attention>(&layer.step.kernels[compute->kernel])) {
                EXPECT_EQ(core->heads, plan.model.heads / 4);
                EXPECT_EQ(core->kv_heads, 1U);
            }
    EXPECT_EQ(verify(build(plan)), std::vector<std::string>{});
    plan.training.software = hardware::Software::transformer_engine;
    EXPECT_NE(refusal(plan).find("/strategy/cp_comm_type: a2a divides"), std::string::npos);
}

/// Fang and Zhao 2024, section 3: what pairs exchange is Ulysses' volume, and their two groups pass half of the keys
/// and values that a ring of four would, once in the forward: those of two ranks' tokens, of half of the heads.
TEST(Context, GroupsThatExchangeHeadsFormARing) {
    const Plan plan = plan_of(4, a2a_p2p);
    const Layer layer(plan);
    const std::uint64_t row = plan.rank_tokens() * plan.model.head_dim * 2;
    const auto moved = [&](std::uint32_t block, CollectiveKind kind, AxisSet group) {
        std::pair<int, std::uint64_t> sum;
        for (const Op& op : layer.step.blocks[block].ops)
            if (const auto* c = std::get_if<Collective>(&op.what); c != nullptr && c->kind == kind) {
                EXPECT_EQ(c->group, group);
                ++sum.first;
                sum.second += c->bytes;
            }
        return sum;
    };
    const std::uint64_t all = row * (2 * plan.model.heads + 2 * plan.model.kv_heads);
    const std::uint64_t keys = row * 2 * plan.model.kv_heads;
    for (const std::uint32_t block : {layer.blocks.forward, layer.blocks.backward}) {
        EXPECT_EQ(moved(block, CollectiveKind::all_to_all, {Axis::context_inner}), std::pair(4, all));
        const bool back = block == layer.blocks.backward;
        EXPECT_EQ(moved(block, CollectiveKind::send_recv, {Axis::context}),
                  std::pair(back ? 2 : 1, (back ? 2 : 1) * keys));
    }
}

/// torch.distributed.tensor: gradients of keys and values go around in fp32, each step's beside the next one's kernel.
TEST(Context, ATemplatedRingPassesGradientsOnInFp32) {
    for (const ContextExchange exchange : {p2p, all_gather}) {
        Plan plan = plan_of(4, exchange);
        plan.strategy.templated_ring = true;
        const Layer layer(plan);
        const std::uint64_t keys = 2 * plan.rank_tokens() * plan.model.kv_heads * plan.model.head_dim * 2;
        const auto with = [&](int wide) {
            Exchanged moved;
            if (exchange == all_gather) moved[CollectiveKind::all_gather] = {1, 4 * keys};
            auto& sent = moved[CollectiveKind::send_recv];
            sent = {wide, 2ULL * wide * keys};
            if (exchange == p2p) sent = {sent.first + 3, sent.second + 3 * keys};
            if (sent.first == 0) moved.erase(CollectiveKind::send_recv);
            return moved;
        };
        EXPECT_EQ(layer.moved(layer.blocks.forward), with(0));
        EXPECT_EQ(layer.moved(layer.blocks.backward), with(4));
        for (const std::uint32_t block : {layer.blocks.forward, layer.blocks.backward})
            for (const Op& op : layer.step.blocks[block].ops)
                EXPECT_TRUE(!std::holds_alternative<Collective>(op.what) || op.lane == Lane::tensor);
    }
}

/// Kernels are over the same tokens, and merges by operators move most.
TEST(Context, ATemplatedRingComputesTheSameAndMergesByOperators) {
    const auto streamed = [](const Layer& layer, std::uint32_t block) {
        double bytes = 0;
        for (const Op& op : layer.step.blocks[block].ops)
            if (const auto* compute = std::get_if<Compute>(&op.what))
                if (const auto* pass = std::get_if<kernels::Pointwise>(&layer.step.kernels[compute->kernel]))
                    bytes += kernels::bytes(*pass);
        return bytes;
    };
    const Plan plan = plan_of(4, all_gather);
    Plan merged = plan, compiled = plan;
    merged.strategy.templated_ring = compiled.strategy.templated_ring = true;
    merged.training.software = compiled.training.software = hardware::Software::pytorch;
    merged.training.kernel_fusion = KernelFusion::operators;
    const Layer ring(plan_of(4)), eager(merged), joined(compiled);
    for (const auto block : {&LayerBlocks::forward, &LayerBlocks::backward}) {
        EXPECT_DOUBLE_EQ(eager.flops(eager.blocks.*block, true), ring.flops(ring.blocks.*block, true));
        EXPECT_DOUBLE_EQ(joined.flops(joined.blocks.*block, true), ring.flops(ring.blocks.*block, true));
        EXPECT_LT(streamed(joined, joined.blocks.*block), streamed(eager, eager.blocks.*block));
        EXPECT_GT(streamed(joined, joined.blocks.*block), streamed(ring, ring.blocks.*block));
    }
}

/// What a rank keeps of a layer shrinks with its tokens (Korthikanti et al. 2022's 34 s b h over C).
TEST(Context, ActivationsShrinkWithTheRanks) {
    const auto saved = [](std::uint32_t ranks) { return Layer(plan_of(ranks)).blocks.saved_bytes; };
    EXPECT_EQ(saved(2), saved(1) / 2);
    EXPECT_EQ(saved(4), saved(1) / 4);
}

TEST(Context, ProgramsAreSoundUnderEverySetting) {
    for (const ContextExchange exchange : {p2p, all_gather, a2a, a2a_p2p})
        for (const Recompute recompute : {Recompute::none, Recompute::selective, Recompute::full})
            for (const bool sequence : {false, true}) {
                Plan plan = plan_of(exchange == a2a_p2p ? 4 : 2, exchange);
                plan.strategy.tensor = 2;
                plan.strategy.pipeline = 2;
                plan.strategy.recompute = recompute;
                plan.strategy.sequence_parallel = sequence;
                plan.strategy.sharding = Sharding::zero1;
                validate(plan);
                EXPECT_TRUE(verify(build(plan)).empty());
                plan.strategy.templated_ring = plan.strategy.batch_first = true;
                validate(plan);
                EXPECT_TRUE(verify(build(plan)).empty());
            }
}

TEST(Context, RefusalsNameAKeyAndARemedy) {
    EXPECT_NE(refusal(plan_of(3)).find("/strategy/context: 3 ranks take two parts"), std::string::npos);
    Plan unfused = plan_of(2);
    unfused.training.fused_attention = false;
    EXPECT_NE(refusal(unfused).find("/training/fused_attention: false, but context is 2"), std::string::npos);
    EXPECT_NE(refusal(plan_of(8, a2a)).find("/strategy/cp_comm_type: a2a divides"), std::string::npos);
    EXPECT_NE(refusal(plan_of(2, a2a_p2p)).find("/strategy/ulysses_degree: a ring of 2 context ranks"),
              std::string::npos);
    Plan window = plan_of(2, all_gather);
    window.model.attention_window = 512;
    window.strategy.templated_ring = true;
    EXPECT_NE(refusal(window).find("/strategy/templated_ring_attention: true, but queries see"), std::string::npos);
    Plan alone = plan_of(4);
    alone.strategy.ulysses_degree = 2;
    EXPECT_NE(refusal(alone).find("/strategy/ulysses_degree: 2, but"), std::string::npos);
    Plan sequence = plan_of(512);
    sequence.strategy.tensor = 4;
    sequence.training.seq = 1024;
    sequence.strategy.sequence_parallel = true;
    EXPECT_NE(refusal(sequence).find("2 tokens of each context rank"), std::string::npos);
}

/// Within a window the first rank has least to do, and all wait for those whose queries see a whole one.
TEST(Context, GatheredKeysOfAWindowArePricedAsTheSlowestRanks) {
    for (const std::uint32_t ranks : {2U, 4U}) {
        Plan plan = plan_of(ranks, all_gather);
        plan.model.attention_window = 512;
        const Layer shared(plan);
        const double seen = 512 - 0.5, queries = 4096.0 / ranks * plan.training.micro_batch;
        const double each = 2 * 2.0 * plan.model.heads * plan.model.head_dim;  // two products
        EXPECT_DOUBLE_EQ(shared.flops(shared.blocks.forward, true), queries * seen * each);
        EXPECT_DOUBLE_EQ(shared.flops(shared.blocks.backward, true), 2.5 * queries * seen * each);
    }
}

}  // namespace
}  // namespace orrery::strategies
