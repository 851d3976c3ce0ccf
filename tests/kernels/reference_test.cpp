// The reference against results that are known in closed form.
#include "kernels/reference/reference.hpp"

#include <cmath>

#include "tests/kernels/host_operands.hpp"

namespace orrery::kernels {
namespace {

using enum PointwiseKind;
using Numbers = std::vector<double>;

HostOperands pointwise(PointwiseKind kind, std::uint64_t rows, std::uint64_t cols) {
    return HostOperands(Pointwise{kind, Dtype::fp32, rows, cols});
}

void expect_near(const Numbers& found, const Numbers& expected, double within = 1e-6) {
    ASSERT_EQ(found.size(), expected.size());
    for (std::size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i], expected[i], within) << i;
}

TEST(Reference, GemmReadsEachPassesLayout) {
    // A = [1 2; 3 4; 5 6] (3 x 2), B = [1 0 2 0; 0 1 0 3] (2 x 4).
    const Numbers product{1, 2, 2, 6, 3, 4, 6, 12, 5, 6, 10, 18};
    const Numbers a{1, 2, 3, 4, 5, 6}, a_transposed{1, 3, 5, 2, 4, 6};
    const Numbers b{1, 0, 2, 0, 0, 1, 0, 3}, b_transposed{1, 0, 0, 1, 2, 0, 0, 3};
    const auto run = [&](GemmPass pass, const Numbers& left, const Numbers& right) {
        HostOperands memory(Gemm{Dtype::fp32, 1, 3, 4, 2, pass});
        memory.set("a", left);
        memory.set("b", right);
        return memory.compute("c");
    };
    EXPECT_EQ(run(GemmPass::forward, a, b_transposed), product);
    EXPECT_EQ(run(GemmPass::data_gradient, a, b), product);
    EXPECT_EQ(run(GemmPass::weight_gradient, a_transposed, b), product);
}

TEST(Reference, GemmsOfABatchAreIndependent) {
    HostOperands memory(Gemm{Dtype::fp32, 2, 1, 1, 2});
    memory.set("a", {1, 2, 3, 4});
    memory.set("b", {5, 6, 7, 8});
    EXPECT_EQ(memory.compute("c"), (Numbers{17, 53}));
}

TEST(Reference, AttentionToEqualKeysIsTheMeanOfTheValuesSeen) {
    HostOperands memory(Attention{
        .dtype = Dtype::fp32, .causal = true, .batch = 1, .seq = 3, .heads = 1, .kv_heads = 1, .head_dim = 1});
    memory.set("q", {1, 1, 1});
    memory.set("k", {2, 2, 2});
    memory.set("v", {3, 6, 12});
    expect_near(memory.compute("o"), {3, 4.5, 7});
    expect_near(memory.compute("lse"), {2, 2 + std::log(2), 2 + std::log(3)});
}

TEST(Reference, AttentionHeadsShareTheirGroupsKeys) {
    HostOperands memory(Attention{
        .dtype = Dtype::fp32, .causal = false, .batch = 1, .seq = 1, .heads = 4, .kv_heads = 2, .head_dim = 1});
    memory.set("v", {5, 7});
    expect_near(memory.compute("o"), {5, 5, 7, 7});
}

TEST(Reference, NormsHaveTheirMoments) {
    HostOperands layer = pointwise(layernorm, 1, 4);
    layer.set("x", {1, 3, 1, 3});
    layer.set("gamma", {1, 1, 2, 2});
    layer.set("beta", {0, 0, 5, 5});
    expect_near(layer.compute("y"), {-1, 1, 3, 7}, 2e-5);  // norm_epsilon is 1e-5
    EXPECT_EQ(layer.compute("mean"), Numbers{2});
    expect_near(layer.compute("rstd"), {1}, 1e-5);
    HostOperands rms = pointwise(rmsnorm, 1, 2);
    rms.set("x", {3, -3});
    rms.set("gamma", {1, 10});
    expect_near(rms.compute("y"), {1, -10}, 1e-4);
}

TEST(Reference, SoftmaxScalesAndSumsToOne) {
    HostOperands memory = pointwise(softmax, 1, 2);
    memory.set("x", {8 * std::log(3.0), 0});  // softmax_scale is 1/8
    expect_near(memory.compute("y"), {0.75, 0.25});
}

TEST(Reference, ActivationsAtKnownPoints) {
    HostOperands gelu_memory = pointwise(gelu, 1, 3);
    gelu_memory.set("x", {0, 0, -10});
    gelu_memory.set("bias", {0, 1, 0});
    expect_near(gelu_memory.compute("y"), {0, 0.841192, 0});
    HostOperands gated = pointwise(swiglu, 1, 2);
    gated.set("x", {0, std::log(3.0), 7, 2});
    expect_near(gated.compute("y"), {0, 2 * 0.75 * std::log(3.0)});
}

TEST(Reference, DropoutKeepsTheMean) {
    HostOperands memory = pointwise(bias_dropout_add, 1, 2);
    memory.set("x", {9, 9});
    memory.set("bias", {0, 9});
    memory.set("residual", {1, 1});
    const std::vector<double> mask = memory.compute("mask"), y = memory.compute("y");
    expect_near(y, {1 + mask[0] * 10, 1 + mask[1] * 20});
}

TEST(Reference, RopeRotatesPairsAndItsBackwardRotatesBack) {
    HostOperands memory = pointwise(rope, 2, 2);
    memory.set("cos", {0, 1});
    memory.set("sin", {1, 0});
    memory.set("x", {3, 4, 3, 4});
    EXPECT_EQ(memory.compute("y"), (Numbers{-4, 3, 3, 4}));
    HostOperands back = pointwise(rope_backward, 2, 2);
    back.set("cos", {0, 1});
    back.set("sin", {1, 0});
    back.set("dy", {-4, 3, 3, 4});
    EXPECT_EQ(back.compute("dx"), (Numbers{3, 4, 3, 4}));
}

TEST(Reference, EmbeddingGathersAndScatters) {
    HostOperands memory = pointwise(embedding, 3, 1);
    memory.set("ids", {2, 0, 2});
    memory.set("table", {10, 20, 30});
    EXPECT_EQ(memory.compute("y"), (Numbers{30, 10, 30}));
    HostOperands back = pointwise(embedding_backward, 3, 1);
    back.set("ids", {2, 0, 2});
    back.set("dy", {1, 2, 4});
    back.set("dtable", {100, 100, 100});
    EXPECT_EQ(back.compute("dtable"), (Numbers{102, 100, 105}));
}

TEST(Reference, CrossEntropyOfEqualLogitsIsTheLogarithmOfTheirNumber) {
    HostOperands memory = pointwise(cross_entropy, 1, 4);
    memory.set("logits", {2, 2, 2, 2});
    expect_near(memory.compute("loss"), {std::log(4.0)});
    expect_near(memory.compute("probabilities"), {0.25, 0.25, 0.25, 0.25});
}

TEST(Reference, GateTakesTheTwoLargestAndTheLowerOfEquals) {
    HostOperands memory = pointwise(moe_gate, 2, 3);
    memory.set("logits", {0, std::log(3.0), std::log(2.0), 1, 1, 1});
    EXPECT_EQ(memory.compute("expert"), (Numbers{1, 2, 0, 1}));
    expect_near(memory.compute("weight"), {0.6, 0.4, 0.5, 0.5});
    expect_near(memory.compute("probabilities"), {1.0 / 6, 0.5, 1.0 / 3, 1.0 / 3, 1.0 / 3, 1.0 / 3});
}

TEST(Reference, UnpermuteBringsBackWhatPermuteSent) {
    HostOperands sent = pointwise(permute, 4, 1);
    sent.set("x", {5, 7});
    sent.set("source", {2, 0, 3, 1});
    EXPECT_EQ(sent.compute("y"), (Numbers{7, 5, 7, 5}));
    HostOperands back = pointwise(unpermute, 4, 1);
    back.set("x", {7, 5, 7, 5});
    back.set("position", {1, 3, 0, 2});  // the inverse of source
    back.set("weight", {0.25, 0.75, 0.5, 0.5});
    EXPECT_EQ(back.compute("y"), (Numbers{5, 7}));
}

TEST(Reference, PlainStreams) {
    HostOperands sum = pointwise(bias_gradient, 2, 2);
    sum.set("dy", {1, 2, 30, 40});
    EXPECT_EQ(sum.compute("db"), (Numbers{31, 42}));
    HostOperands turned = pointwise(transpose, 2, 3);
    turned.set("x", {1, 2, 3, 4, 5, 6});
    EXPECT_EQ(turned.compute("y"), (Numbers{1, 4, 2, 5, 3, 6}));
    HostOperands squares = pointwise(sum_of_squares, 1, 3);
    squares.set("x", {1, 2, 3});
    EXPECT_EQ(squares.compute("sum"), Numbers{14});
    EXPECT_EQ(pointwise(fill, 1, 2).compute("x"), (Numbers{0, 0}));
    HostOperands scaled = pointwise(scale, 1, 1);
    scaled.set("a", {3});
    EXPECT_EQ(scaled.compute("b"), Numbers{1.5});
}

TEST(Reference, AdamsFirstMomentsDecideASteadyStep) {
    HostOperands memory = pointwise(adam, 1, 1);
    memory.set("g", {0.5});
    memory.set("w", {2});
    memory.set("m", {0});
    memory.set("v", {0});
    EXPECT_NEAR(memory.compute("m")[0], 0.05, 1e-12);
    EXPECT_NEAR(memory.compute("v")[0], 0.0125, 1e-12);
    const double m = 0.05 / (1 - std::pow(0.9, 10)), v = 0.0125 / (1 - std::pow(0.95, 10));
    EXPECT_NEAR(memory.compute("w")[0], 2 - 6e-5 * (m / std::sqrt(v) + 0.2), 1e-9);
    EXPECT_EQ(memory.compute("copy"), memory.compute("w"));
}

}  // namespace
}  // namespace orrery::kernels
