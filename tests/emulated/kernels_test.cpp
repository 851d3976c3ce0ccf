// Every kernel of a GPU against the reference, in the smallest shapes that take each of its paths. What tests/gpu holds
// a GPU to, the emulated one is held to.
#include <algorithm>
#include <array>

#include "tests/emulated/machine/machine.hpp"
#include "tests/gpu/gpu.hpp"

namespace orrery::kernels {
namespace {

class EmulatedKernels : public GpuTest {
protected:
    /// Other orders of warps, lanes and streams for each kernel.
    static void expect_right(const Kernel& kernel, std::uint64_t seed) {
        emulated::set_up({.seed = seed});
        SCOPED_TRACE(emulated::describe_setup());
        GpuTest::expect_right(kernel, seed);
    }
};

class EmulatedPointwise : public EmulatedKernels, public testing::WithParamInterface<PointwiseKind> {
protected:
    /// Whether rows are spread over a block, which has a path for each length.
    static bool by_rows() {
        using enum PointwiseKind;
        constexpr std::array kinds{layernorm, layernorm_backward, rmsnorm,      rmsnorm_backward,
                                   softmax,   softmax_backward,   cross_entropy};
        return std::ranges::find(kinds, GetParam()) != kinds.end();
    }
};

constexpr std::array dtypes{Dtype::fp32, Dtype::fp16, Dtype::bf16};

/// Element by element (columns no multiple of a vector), vectors, more rows than blocks.
TEST_P(EmulatedPointwise, AgreesWithTheReference) {
    struct Shape {
        std::uint64_t rows, cols;
    };
    constexpr std::array<Shape, 5> shapes{{{2, 2}, {6, 10}, {38, 122}, {64, 128}, {270, 16}}};
    std::uint64_t seed = 101;
    for (const Shape& s : shapes)
        for (const Dtype dtype : dtypes) expect_right(Pointwise{GetParam(), dtype, s.rows, s.cols}, seed++);
    expect_right(Pointwise{GetParam(), Dtype::tf32, 6, 50}, 201);
}

/// A row held in registers, once and four times, and read again in each pass.
TEST_P(EmulatedPointwise, AgreesWithTheReferenceInLongRows) {
    if (!by_rows()) return;
    expect_right(Pointwise{GetParam(), Dtype::bf16, 3, 1024}, 211);
    expect_right(Pointwise{GetParam(), Dtype::fp16, 1, 9216}, 212);
    expect_right(Pointwise{GetParam(), Dtype::fp32, 1, 16640}, 213);
}

std::vector<PointwiseKind> all_kinds() {
    std::vector<PointwiseKind> kinds;
    for (int i = 0; i < pointwise_kinds; ++i) kinds.push_back(static_cast<PointwiseKind>(i));
    return kinds;
}

std::string test_name(const testing::TestParamInfo<PointwiseKind>& info) {
    std::string text(name(info.param));
    std::ranges::replace(text, '-', '_');
    return text;
}

INSTANTIATE_TEST_SUITE_P(Kinds, EmulatedPointwise, testing::ValuesIn(all_kinds()), test_name);

struct Case {
    std::uint32_t head_dim;
    bool backward;
};

class EmulatedAttention : public EmulatedKernels, public testing::WithParamInterface<Case> {};

/// One token; a tile of keys and one more; a tile of queries and one more, under either mask.
TEST_P(EmulatedAttention, AgreesWithTheReference) {
    const auto [dim, backward] = GetParam();
    std::uint64_t seed = 301;
    for (const std::uint32_t seq : {1u, 65u, 129u})
        for (const bool causal : {true, false})
            for (const Dtype dtype : {Dtype::bf16, Dtype::tf32})
                expect_right(Attention{dtype, backward, causal, 1, seq, 1, 1, dim}, seed++);
    for (const Dtype dtype : {Dtype::fp16, Dtype::tf32})
        expect_right(Attention{dtype, backward, true, 2, 33, 4, 2, dim}, seed++);
}

std::string case_name(const testing::TestParamInfo<Case>& one) {
    return (one.param.backward ? "backward_" : "forward_") + std::to_string(one.param.head_dim);
}

INSTANTIATE_TEST_SUITE_P(Heads, EmulatedAttention,
                         testing::Values(Case{64, false}, Case{80, false}, Case{96, false}, Case{128, false},
                                         Case{64, true}, Case{80, true}, Case{96, true}, Case{128, true}),
                         case_name);

TEST_F(EmulatedKernels, AttentionInSinglePrecision) {
    std::uint64_t seed = 401;
    for (const bool backward : {false, true})
        for (const std::uint32_t head_dim : {4u, 40u, 80u})
            for (const std::uint32_t seq : {1u, 66u})
                expect_right(Attention{Dtype::fp32, backward, seq != 1, 1, seq, 2, 1, head_dim}, seed++);
    expect_right(Attention{Dtype::tf32, true, false, 2, 31, 4, 2, 40}, seed++);  // no head of tensor cores
}

/// The library's part is a plain loop here; the descriptions that it is given are ours.
TEST_F(EmulatedKernels, Products) {
    std::uint64_t seed = 1;
    for (const Dtype dtype : {Dtype::fp32, Dtype::tf32, Dtype::fp16, Dtype::bf16})
        for (const GemmPass pass : {GemmPass::forward, GemmPass::data_gradient, GemmPass::weight_gradient}) {
            expect_right(Gemm{dtype, 1, 17, 33, 65, pass}, seed++);
            expect_right(Gemm{dtype, 3, 24, 8, 40, pass}, seed++);
        }
    expect_right(Gemm{Dtype::fp8, 2, 32, 48, 64, GemmPass::forward}, seed++);
    EXPECT_FALSE(gpu().supports(Gemm{Dtype::fp8, 1, 64, 64, 72, GemmPass::forward}));
}

TEST_F(EmulatedKernels, TheFastestOfSeveralAlgorithmsIsRightToo) {
    cuda::CudaDevice tuned(0, 8);
    EXPECT_TRUE(verify(tuned, Gemm{Dtype::bf16, 1, 12, 16, 24, GemmPass::forward}, 61).passed());
}

/// The same bytes, whatever the order of threads.
TEST_F(EmulatedKernels, RepeatThemselves) {
    const std::array<Kernel, 5> kernels{Pointwise{PointwiseKind::embedding_backward, Dtype::bf16, 64, 32},
                                        Pointwise{PointwiseKind::layernorm_backward, Dtype::fp32, 70, 64},
                                        Pointwise{PointwiseKind::sum_of_squares, Dtype::fp16, 70, 64},
                                        kernels::Attention{Dtype::bf16, true, true, 1, 70, 4, 2, 64},
                                        kernels::Attention{Dtype::tf32, true, true, 1, 70, 4, 2, 64}};
    for (const Kernel& kernel : kernels) {
        SCOPED_TRACE(to_text(kernel));
        OperandMemory memory(gpu(), kernel);
        std::vector<std::vector<std::byte>> first;
        for (std::uint64_t seed = 1; seed <= 4; ++seed) {
            emulated::set_up({.seed = seed});
            const auto after = run(gpu(), memory, kernel);
            if (seed == 1) first = after;
            for (std::size_t i = 0; i < after.size(); ++i)
                EXPECT_TRUE(after[i] == first[i]) << memory.operands()[i].name << ", seed " << seed;
        }
    }
}

}  // namespace
}  // namespace orrery::kernels
