// A loss that takes its tokens in parts.
#include <gtest/gtest.h>

#include <algorithm>

#include "models/operators.hpp"
#include "strategies/build.hpp"
#include "strategies/stage.hpp"
#include "tests/strategies/tiny_plan.hpp"

namespace orrery::strategies {
namespace {

struct Head {
    Piece product, loss;
};

Head head_of(const Plan& plan) {
    const ShardedLayer head = shard(models::build(plan.model).layer("head"), plan);
    const auto loss = std::ranges::find(head.pieces, "loss", &Piece::name);
    EXPECT_NE(loss, head.pieces.end());
    return {*std::prev(loss), *loss};
}

struct Done {
    double flops = 0, bytes = 0;
    std::uint64_t moved = 0, kernels = 0;
};

Done done_by(const Piece& piece) {
    Done sum;
    for (const auto* list : {&piece.forward, &piece.backward})
        for (const Work& work : *list) {
            if (const auto* collective = std::get_if<LayerCollective>(&work.what)) {
                sum.moved += collective->bytes;
                continue;
            }
            const auto& kernel = std::get<kernels::Kernel>(work.what);
            sum.flops += kernels::flops(kernel);
            sum.bytes += kernels::bytes(kernel);
            ++sum.kernels;
        }
    return sum;
}

Plan in_parts(std::uint32_t tensor, CrossEntropy how, std::uint32_t parts) {
    Plan plan = tiny_plan(tensor, 1, 2);
    plan.training.precision.compute = kernels::Dtype::bf16;
    plan.training.cross_entropy = how;
    plan.training.loss_chunks = parts;
    return plan;
}

/// Parts are as much work as the whole; weights, which every part reads, and their gradients, to which every part adds,
/// are passed over again.
TEST(ChunkedLoss, DoesTheWorkOfAWholeOne) {
    for (const std::uint32_t tensor : {1U, 2U})
        for (const CrossEntropy how : {CrossEntropy::in_place, CrossEntropy::torch, CrossEntropy::fused}) {
            constexpr std::uint32_t parts = 8;
            const Head whole = head_of(in_parts(tensor, how, 1)), cut = head_of(in_parts(tensor, how, parts));
            EXPECT_EQ(done_by(cut.product).flops, done_by(whole.product).flops);
            EXPECT_GT(done_by(cut.product).bytes, done_by(whole.product).bytes);
            EXPECT_EQ(done_by(cut.product).moved, done_by(whole.product).moved);
            EXPECT_EQ(done_by(cut.loss).bytes, done_by(whole.loss).bytes);
            EXPECT_EQ(done_by(cut.loss).moved, done_by(whole.loss).moved);
            EXPECT_EQ(done_by(cut.loss).kernels, parts * done_by(whole.loss).kernels);
            EXPECT_EQ(cut.product.counts.trained, whole.product.counts.trained);
            EXPECT_EQ(verify(build(in_parts(tensor, how, parts))), std::vector<std::string>{});
        }
}

/// Of all logits none are kept: those of a part are there at a time. The input stays, as its gradient does.
TEST(ChunkedLoss, HoldsTheLogitsOfOnePart) {
    for (const CrossEntropy how : {CrossEntropy::in_place, CrossEntropy::torch, CrossEntropy::fused}) {
        const Head whole = head_of(in_parts(1, how, 1)), cut = head_of(in_parts(1, how, 8));
        EXPECT_EQ(cut.loss.saved_bytes, 0U);
        EXPECT_EQ(cut.loss.working_bytes * 8, whole.loss.saved_bytes + whole.loss.working_bytes);
        EXPECT_EQ(cut.product.saved_bytes, whole.product.saved_bytes);
        EXPECT_LE(cut.product.working_bytes, whole.product.working_bytes);
    }
}

TEST(ChunkedLoss, PartsAreAsLargeAsEachOther) {
    Plan plan = in_parts(1, CrossEntropy::fused, 3);
    EXPECT_EQ(refused_at(plan), "/training/loss_chunks");
    plan.training.loss_chunks = 1;
    EXPECT_EQ(refused_at(plan), "accepted");
}

/// Two bytes each, which no cast widens: read for the sum of exponentials, read and overwritten by the gradient.
TEST(FusedLoss, PassesOverSixteenBits) {
    const Plan plan = in_parts(1, CrossEntropy::fused, 1);
    const double logits = double{1} * static_cast<double>(plan.rank_tokens() * plan.padded_vocab());
    const Piece loss = head_of(plan).loss;
    EXPECT_NEAR(done_by(loss).bytes / logits, 2 + 4, 0.1);
    EXPECT_EQ(static_cast<double>(loss.saved_bytes + loss.working_bytes), 2 * logits);
    EXPECT_EQ(done_by(loss).kernels, 2U);
}

}  // namespace
}  // namespace orrery::strategies
