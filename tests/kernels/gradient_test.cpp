// Backward kernels of the reference are the derivatives of the forward ones: central differences.
#include <cmath>

#include "tests/kernels/host_operands.hpp"

namespace orrery::kernels {
namespace {

struct Case {
    Kernel forward, backward;
    std::string_view output, output_gradient;
    std::vector<std::string_view> inputs;  ///< each with a gradient named "d" + input
};

/// Coarse numbers, so that a small step changes them exactly.
void fill_coarsely(HostOperands& memory, std::string_view name) {
    for (std::uint64_t i = 0; i < memory.operand(name).elements; ++i)
        memory.set(name, i, std::round(memory.get(name, i) * 64) / 64);
}

double weighted(const HostOperands& forward, const Case& test, const std::vector<double>& weights) {
    const std::vector<double> y = forward.compute(test.output);
    double total = 0;
    for (std::size_t i = 0; i < y.size(); ++i) total += y[i] * weights[i];
    return total;
}

/// The backward's inputs: those of the forward, the forward's results, and the gradient of its output.
void prepare(const HostOperands& forward, HostOperands& backward, const Case& test) {
    for (const Operand& operand : backward.list()) {
        if (operand.role != Role::in || operand.name == test.output_gradient) continue;
        const bool result = forward.operand(operand.name).role == Role::out;
        const std::vector<double> values = result ? forward.compute(operand.name) : std::vector<double>{};
        for (std::uint64_t i = 0; i < operand.elements; ++i)
            backward.set(operand.name, i, result ? values[i] : forward.get(operand.name, i));
    }
}

void expect_gradients(const Case& test) {
    SCOPED_TRACE(to_text(test.backward));
    HostOperands forward(test.forward), backward(test.backward, 2);
    for (const std::string_view input : test.inputs) fill_coarsely(forward, input);
    prepare(forward, backward, test);
    std::vector<double> weights;
    for (std::uint64_t i = 0; i < backward.operand(test.output_gradient).elements; ++i)
        weights.push_back(backward.get(test.output_gradient, i));
    constexpr double step = 0x1p-11;
    for (const std::string_view input : test.inputs) {
        const std::vector<double> gradient = backward.compute("d" + std::string(input));
        for (std::uint64_t i = 0; i < gradient.size(); ++i) {
            const double at = forward.get(input, i);
            forward.set(input, i, at + step);
            const double above = weighted(forward, test, weights);
            forward.set(input, i, at - step);
            const double below = weighted(forward, test, weights);
            forward.set(input, i, at);
            EXPECT_NEAR(gradient[i], (above - below) / (2 * step), 2e-5) << input << ' ' << i;
        }
    }
}

Case pointwise(PointwiseKind forward, PointwiseKind backward, std::vector<std::string_view> inputs = {"x"}) {
    return {Pointwise{forward, Dtype::fp32, 3, 6}, Pointwise{backward, Dtype::fp32, 3, 6}, "y", "dy",
            std::move(inputs)};
}

TEST(Gradient, OfMemoryBoundKernels) {
    using enum PointwiseKind;
    expect_gradients(pointwise(layernorm, layernorm_backward, {"x", "gamma", "beta"}));
    expect_gradients(pointwise(rmsnorm, rmsnorm_backward, {"x", "gamma"}));
    expect_gradients(pointwise(softmax, softmax_backward));
    expect_gradients(pointwise(gelu, gelu_backward));
    expect_gradients(pointwise(swiglu, swiglu_backward));
    expect_gradients(pointwise(dropout, dropout_backward));
    expect_gradients(pointwise(bias_dropout_add, bias_dropout_add_backward));
    expect_gradients(pointwise(rope, rope_backward));
}

TEST(Gradient, OfCrossEntropyIsOfTheMeanLoss) {
    using enum PointwiseKind;
    constexpr std::uint64_t rows = 3, cols = 5;
    HostOperands forward(Pointwise{cross_entropy, Dtype::fp32, rows, cols});
    HostOperands backward(Pointwise{cross_entropy_backward, Dtype::fp32, rows, cols});
    fill_coarsely(forward, "logits");
    backward.set("probabilities", forward.compute("probabilities"));
    for (std::uint64_t r = 0; r < rows; ++r) backward.set("target", r, forward.get("target", r));
    const std::vector<double> gradient = backward.compute("dlogits");
    const auto mean_loss = [&forward] {
        double total = 0;
        for (const double loss : forward.compute("loss")) total += loss / rows;
        return total;
    };
    constexpr double step = 0x1p-11;
    for (std::uint64_t i = 0; i < rows * cols; ++i) {
        const double at = forward.get("logits", i);
        forward.set("logits", i, at + step);
        const double above = mean_loss();
        forward.set("logits", i, at - step);
        EXPECT_NEAR(gradient[i], (above - mean_loss()) / (2 * step), 1e-5) << i;
        forward.set("logits", i, at);
    }
}

TEST(Gradient, OfAttention) {
    for (const bool causal : {false, true})
        for (const std::uint32_t kv_heads : {1u, 2u}) {
            Attention a{.dtype = Dtype::fp32,
                        .causal = causal,
                        .batch = 2,
                        .seq = 4,
                        .heads = 2,
                        .kv_heads = kv_heads,
                        .head_dim = 3};
            Attention backward = a;
            backward.backward = true;
            expect_gradients({a, backward, "o", "do", {"q", "k", "v"}});
        }
}

}  // namespace
}  // namespace orrery::kernels
