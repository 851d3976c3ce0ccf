// What the kernels of a state-space scan compute and move.
#include <gtest/gtest.h>

#include "base/error.hpp"
#include "kernels/device.hpp"
#include "kernels/kernel.hpp"
#include "kernels/operands.hpp"

namespace orrery::kernels {
namespace {

constexpr StateSpace scan(StateSpaceKind kind) {
    return {.kind = kind,
            .dtype = Dtype::bf16,
            .batch = 2,
            .seq = 1024,
            .heads = 16,
            .head_dim = 64,
            .groups = 2,
            .state = 128,
            .chunk = 256};
}

constexpr double tokens = 2 * 1024, inner = 16 * 64, state = 128, chunk = 256, groups = 2;

TEST(StateSpace, EveryKindHasAName) {
    for (int i = 0; i < state_space_kinds; ++i) {
        const auto kind = static_cast<StateSpaceKind>(i);
        EXPECT_EQ(state_space_from(name(kind)), kind);
        EXPECT_GT(bytes(scan(kind)), 0) << name(kind);
    }
    EXPECT_THROW(state_space_from("scan"), Error);
}

/// arXiv:2405.21060, section 6.3: of tokens in chunks of Q, states of N and heads of P, BMM(T/Q, Q, Q, N) for C B^T,
/// BMM(T/Q, Q, P, Q) within chunks, of which the causal half is needed, BMM(T/Q, N, P, Q) and BMM(T/Q, Q, P, N) for
/// what chunks add to the states and what states add to results.
TEST(StateSpace, AForwardHasTheProductsOfThePaper) {
    double sum = 0;
    for (const auto kind : {StateSpaceKind::convolution, StateSpaceKind::decay, StateSpaceKind::chunk_product,
                            StateSpaceKind::chunk_states, StateSpaceKind::state_passing, StateSpaceKind::chunk_scan})
        sum += flops(scan(kind));
    const double chunks = tokens / chunk;
    EXPECT_DOUBLE_EQ(
        sum,
        chunks * 2 * (groups * chunk * chunk * state + 16 * (chunk * chunk * 64 / 2) + 2 * 16 * chunk * 64 * state));
}

TEST(StateSpace, StatesCrossMemoryInTheirFormats) {
    const double states = tokens / chunk * inner * state, product = tokens * chunk * groups;
    EXPECT_DOUBLE_EQ(bytes(scan(StateSpaceKind::state_passing)), states * (4 + 2));
    EXPECT_DOUBLE_EQ(bytes(scan(StateSpaceKind::chunk_product)), tokens * groups * state * 2 * 2 + product * 4);
    // x z C dt a, C B^T and states in; results before and behind the gate out.
    EXPECT_DOUBLE_EQ(bytes(scan(StateSpaceKind::chunk_scan)),
                     tokens * (4 * inner + groups * state) * 2 + tokens * 2 * 16 * 4 + product * 4 + states * 2);
    // The convolution reads and writes what is scanned, B and C.
    EXPECT_DOUBLE_EQ(bytes(scan(StateSpaceKind::convolution)), tokens * 2 * (inner + 2 * groups * state) * 2);
    EXPECT_DOUBLE_EQ(bytes(scan(StateSpaceKind::convolution_backward)), tokens * 3 * (inner + 2 * groups * state) * 2);
}

TEST(StateSpace, HasATextOfItsOwnAndNoOperandsYet) {
    const Kernel kernel = scan(StateSpaceKind::chunk_scan);
    EXPECT_EQ(to_text(kernel), "chunk-scan bf16 b2 s1024 h16 d64 g2 n128 chunk 256");
    EXPECT_TRUE(operands(kernel).empty());
    EXPECT_EQ(dtype_of(with_dtype(kernel, Dtype::fp16)), Dtype::fp16);
}

}  // namespace
}  // namespace orrery::kernels
