// The same operands give the same bytes: no kernel depends on the order in which threads happen to run.
#include "tests/gpu/gpu.hpp"

namespace orrery::kernels {
namespace {

class GpuRepeat : public GpuTest {
protected:
    static void expect_repeats(const Kernel& kernel) {
        SCOPED_TRACE(to_text(kernel));
        OperandMemory memory(gpu(), kernel);
        const auto first = run(gpu(), memory, kernel);
        for (int repeat = 0; repeat < 3; ++repeat) {
            const auto again = run(gpu(), memory, kernel);
            for (std::size_t i = 0; i < first.size(); ++i)
                EXPECT_TRUE(first[i] == again[i]) << memory.operands()[i].name << " differs in run " << repeat + 2;
        }
    }
};

TEST_F(GpuRepeat, PointwiseKernels) {
    for (int i = 0; i < pointwise_kinds; ++i)
        expect_repeats(Pointwise{static_cast<PointwiseKind>(i), Dtype::bf16, 3000, 768});
}

TEST_F(GpuRepeat, Attention) {
    for (const bool backward : {false, true})
        for (const bool causal : {false, true})
            for (const Dtype dtype : {Dtype::bf16, Dtype::tf32})
                expect_repeats(kernels::Attention{dtype, backward, causal, 2, 500, 8, 4, 128});
}

TEST_F(GpuRepeat, Products) {
    for (const Dtype dtype : {Dtype::fp32, Dtype::tf32, Dtype::fp16, Dtype::bf16})
        expect_repeats(Gemm{dtype, 1, 512, 256, 8192, GemmPass::weight_gradient});
}

}  // namespace
}  // namespace orrery::kernels
