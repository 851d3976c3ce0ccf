// Matrix products: every format and pass against the reference.
#include <array>

#include "tests/gpu/gpu.hpp"

namespace orrery::kernels {
namespace {

constexpr std::array passes{GemmPass::forward, GemmPass::data_gradient, GemmPass::weight_gradient};

struct Shape {
    std::uint32_t batch, m, n, k;
};

class GpuGemm : public GpuTest, public testing::WithParamInterface<Dtype> {};

TEST_P(GpuGemm, AgreesWithTheReferenceInEveryPass) {
    constexpr std::array<Shape, 7> shapes{{{1, 1, 1, 1},
                                           {1, 64, 64, 64},
                                           {1, 17, 33, 65},
                                           {1, 128, 1000, 40},
                                           {3, 96, 48, 80},
                                           {5, 31, 7, 100},
                                           {1, 512, 768, 2048}}};
    std::uint64_t seed = 1;
    for (const Shape& s : shapes)
        for (const GemmPass pass : passes) expect_right(Gemm{GetParam(), s.batch, s.m, s.n, s.k, pass}, seed++);
}

TEST_P(GpuGemm, AgreesWithTheReferenceWhereItFillsTheGpu) {
    expect_right(Gemm{GetParam(), 1, 4096, 2048, 4096, GemmPass::forward}, 41);
    expect_right(Gemm{GetParam(), 1, 4096, 4096, 2048, GemmPass::weight_gradient}, 42);
    expect_right(Gemm{GetParam(), 32, 512, 512, 128, GemmPass::data_gradient}, 43);
}

std::string format_name(const testing::TestParamInfo<Dtype>& format) { return std::string(name(format.param)); }

INSTANTIATE_TEST_SUITE_P(Formats, GpuGemm, testing::Values(Dtype::fp32, Dtype::tf32, Dtype::fp16, Dtype::bf16),
                         format_name);

class GpuFp8 : public GpuTest {};

TEST_F(GpuFp8, AgreesWithTheReferenceForward) {
    const Gemm probe{Dtype::fp8, 1, 16, 16, 16, GemmPass::forward};
    if (!gpu().supports(probe)) GTEST_SKIP() << "this GPU has no fp8 products";
    constexpr std::array<Shape, 5> shapes{
        {{1, 16, 16, 16}, {1, 256, 512, 1024}, {3, 64, 48, 80}, {1, 2048, 2048, 4096}, {1, 32, 8192, 2048}}};
    std::uint64_t seed = 51;
    for (const Shape& s : shapes) expect_right(Gemm{Dtype::fp8, s.batch, s.m, s.n, s.k, GemmPass::forward}, seed++);
}

TEST_F(GpuFp8, RefusesWhatTheTensorCoresDoNotTake) {
    EXPECT_FALSE(gpu().supports(Gemm{Dtype::fp8, 1, 64, 64, 72, GemmPass::forward}));
    EXPECT_FALSE(gpu().supports(Gemm{Dtype::fp8, 1, 64, 64, 64, GemmPass::data_gradient}));
    EXPECT_FALSE(gpu().supports(Gemm{Dtype::fp8, 1, 64, 64, 64, GemmPass::weight_gradient}));
}

class GpuTunedGemm : public GpuTest {};

TEST_F(GpuTunedGemm, TheFastestOfSeveralAlgorithmsIsRightToo) {
    cuda::CudaDevice tuned(0, 8);
    for (const Kernel& kernel : {Kernel(Gemm{Dtype::bf16, 1, 512, 768, 1024, GemmPass::forward}),
                                 Kernel(Gemm{Dtype::fp16, 2, 100, 200, 300, GemmPass::weight_gradient})}) {
        const Verification verification = verify(tuned, kernel, 61);
        EXPECT_TRUE(verification.passed()) << to_text(kernel) << ": " << verification.to_text();
    }
}

}  // namespace
}  // namespace orrery::kernels
