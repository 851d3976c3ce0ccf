// Layers that differ from GPT's and Llama's, as one rank computes them: kernels, kept bytes and parameters by hand.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "strategies/partition/tensor.hpp"
#include "tests/strategies/tiny_plan.hpp"

namespace orrery::strategies {
namespace {

constexpr std::uint64_t hidden = 64;

ShardedLayer block(const Plan& plan, const char* name = "block") {
    return shard(models::build(plan.model).layer(name), plan);
}

const Piece& piece(const ShardedLayer& layer, const std::string& name) {
    const auto found = std::ranges::find(layer.pieces, name, &Piece::name);
    if (found == layer.pieces.end()) throw std::logic_error(name);
    return *found;
}

std::ptrdiff_t named(const std::vector<Work>& list, const std::string& name) {
    return std::ranges::count(list, name, &Work::name);
}

/// Rows of the residual stream of one micro-batch, times hidden, in bytes.
std::uint64_t stream_bytes(const Plan& plan) {
    return plan.rank_tokens() * hidden * kernels::size_of(activation_dtype(plan));
}

Plan llama(std::uint32_t tensor = 1) {
    Plan plan = tiny_plan(tensor, 1, 1);
    plan.model = tiny_llama();
    plan.training.fused_attention = true;
    return plan;
}

TEST(Blocks, NormsBehindBranchesKeepTheirInputs) {
    Plan plan = llama();
    const ShardedLayer plain = block(plan);
    plan.model.output_norm = true;
    const ShardedLayer both = block(plan);
    EXPECT_EQ(both.saved_bytes() - plain.saved_bytes(), 2 * stream_bytes(plan));
    EXPECT_EQ(both.counts().trained - plain.counts().trained, 2 * hidden);
    EXPECT_TRUE(both.flow.complete) << "data flow, though not executed";
    plan.model.input_norm = false;
    const ShardedLayer behind = block(plan);
    EXPECT_EQ(behind.saved_bytes(), plain.saved_bytes());
    EXPECT_EQ(behind.counts().trained, plain.counts().trained);
    std::ptrdiff_t sums = 0;
    for (const Piece& each : behind.pieces) sums += named(each.backward, "sum branch gradients");
    EXPECT_EQ(sums, 2) << "a branch's gradient meets the residual's whether a norm begins it or not";
    EXPECT_TRUE(behind.flow.complete);
}

TEST(Blocks, OneNormOfTwoBranchesIsKeptOnce) {
    Plan plan = llama();
    plan.model.parallel_residual = true;
    const ShardedLayer two = block(plan);
    plan.model.shared_norm = true;
    const ShardedLayer one = block(plan);
    EXPECT_EQ(two.saved_bytes() - one.saved_bytes(), 2 * stream_bytes(plan)) << "the second norm's input and output";
    EXPECT_EQ(two.counts().trained - one.counts().trained, hidden);
    EXPECT_EQ(named(piece(one, "qkv").backward, "sum input gradients"), 1) << "behind up's, which comes first";
    EXPECT_EQ(named(piece(two, "mlp_norm").backward, "sum branch gradients"), 1);
    EXPECT_TRUE(one.flow.complete && two.flow.complete);
    EXPECT_EQ(piece(one, "up").saved_bytes, 0U);
}

TEST(Blocks, AReluKeepsNothingAndLeavesItsBiasToTheProduct) {
    Plan plan = tiny_plan(1, 1, 1);
    plan.model = tiny_gpt();
    const ShardedLayer gelu = block(plan);
    plan.model.activation = models::ActivationKind::relu;
    const ShardedLayer relu = block(plan);
    EXPECT_EQ(gelu.saved_bytes() - relu.saved_bytes(), 4 * stream_bytes(plan));
    EXPECT_EQ(piece(relu, "relu").saved_bytes, 0U);
    EXPECT_TRUE(piece(relu, "up").forward.back().detail.launch.bias.given());
    EXPECT_FALSE(piece(gelu, "up").forward.back().detail.launch.bias.given());
}

TEST(Blocks, AGegluMovesWhatASwigluDoes) {
    Plan plan = llama();
    const ShardedLayer swiglu = block(plan);
    plan.model.activation = models::ActivationKind::gelu;
    const ShardedLayer geglu = block(plan);
    EXPECT_EQ(geglu.saved_bytes(), swiglu.saved_bytes());
    const auto kernel = [](const Piece& each) { return std::get<kernels::Kernel>(each.forward.front().what); };
    EXPECT_EQ(kernel(piece(geglu, "geglu")), kernel(piece(swiglu, "swiglu")));
    EXPECT_TRUE(swiglu.flow.complete);
    EXPECT_TRUE(geglu.flow.complete);
}

TEST(Blocks, NormsOfWholeQueriesAreSummedOverTensorRanks) {
    for (const std::uint32_t tensor : {1U, 2U}) {
        Plan plan = llama(tensor);
        plan.model.qk_norm = plan.model.qk_norm_whole = true;
        const ShardedLayer layer = block(plan);
        const Piece& rope = piece(layer, "rope");
        EXPECT_EQ(named(rope.forward, "query key norm sum"), tensor == 1 ? 0 : 1);
        EXPECT_EQ(named(rope.backward, "query key norm sum"), tensor == 1 ? 0 : 1);
        const std::uint64_t width = std::uint64_t{plan.model.heads + plan.model.kv_heads} * plan.model.head_dim;
        EXPECT_EQ(rope.counts.trained, width / tensor);
    }
}

TEST(Blocks, AGateOfTheSharedExpertIsOneVector) {
    Plan plan = llama();
    plan.model.experts = 4;
    plan.model.experts_per_token = 2;
    plan.model.expert_ffn = plan.model.shared_expert_ffn = 96;
    plan.model.moe_layer_freq = 1;
    const ShardedLayer plain = block(plan, "moe block");
    plan.model.shared_expert_gate = true;
    const ShardedLayer gated = block(plan, "moe block");
    EXPECT_EQ(gated.counts().trained - plain.counts().trained, hidden);
    EXPECT_EQ(gated.saved_bytes() - plain.saved_bytes(), stream_bytes(plan));
    EXPECT_FALSE(gated.flow.complete);
}

}  // namespace
}  // namespace orrery::strategies
