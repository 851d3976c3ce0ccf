// Fused attention against the reference.
#include <array>

#include "tests/gpu/gpu.hpp"

namespace orrery::kernels {
namespace {

struct Case {
    std::uint32_t head_dim;
    bool backward;
};

class GpuAttention : public GpuTest, public testing::WithParamInterface<Case> {
protected:
    static Attention of(Dtype dtype, bool causal, std::uint32_t batch, std::uint32_t seq, std::uint32_t heads,
                        std::uint32_t kv_heads) {
        return {dtype, GetParam().backward, causal, batch, seq, heads, kv_heads, GetParam().head_dim};
    }
};

// One key; less than a tile; a tile of keys, of queries; one more than either; several tiles and a rest.
TEST_P(GpuAttention, AgreesWithTheReferenceAtEveryLength) {
    std::uint64_t seed = 301;
    for (const std::uint32_t seq : {1u, 7u, 32u, 64u, 65u, 127u, 128u, 129u, 257u, 600u})
        for (const bool causal : {true, false})
            for (const Dtype dtype : {Dtype::bf16, Dtype::tf32}) expect_right(of(dtype, causal, 1, seq, 2, 2), seed++);
}

TEST_P(GpuAttention, AgreesWithTheReferenceForGroupedQueries) {
    std::uint64_t seed = 351;
    for (const Dtype dtype : {Dtype::fp16, Dtype::bf16, Dtype::tf32})
        for (const bool causal : {true, false}) {
            expect_right(of(dtype, causal, 2, 200, 8, 2), seed++);
            expect_right(of(dtype, causal, 3, 90, 6, 1), seed++);
        }
}

TEST_P(GpuAttention, AgreesWithTheReferenceWhereItFillsTheGpu) {
    expect_right(of(Dtype::bf16, true, 2, 2048, 16, 16), 391);
    expect_right(of(Dtype::fp16, false, 4, 1024, 16, 4), 392);
    expect_right(of(Dtype::tf32, true, 4, 1024, 16, 4), 393);
}

std::string case_name(const testing::TestParamInfo<Case>& one) {
    return (one.param.backward ? "backward_" : "forward_") + std::to_string(one.param.head_dim);
}

INSTANTIATE_TEST_SUITE_P(Heads, GpuAttention,
                         testing::Values(Case{64, false}, Case{80, false}, Case{96, false}, Case{128, false},
                                         Case{64, true}, Case{80, true}, Case{96, true}, Case{128, true}),
                         case_name);

class GpuAttentionShapes : public GpuTest {};

TEST_F(GpuAttentionShapes, RefusesWhatIsNotCompiled) {
    Attention kernel{Dtype::bf16, false, true, 1, 128, 4, 4, 72};
    EXPECT_FALSE(gpu().supports(kernel));
    kernel.head_dim = 64;
    EXPECT_TRUE(gpu().supports(kernel));
    kernel.dtype = Dtype::tf32;
    EXPECT_TRUE(gpu().supports(kernel));
    kernel.dtype = Dtype::fp32;
    EXPECT_TRUE(gpu().supports(kernel));
    kernel.head_dim = 132;
    EXPECT_FALSE(gpu().supports(kernel));
}

/// Smaller shapes are cudnn_test's, which emulated GPUs run too.
TEST_F(GpuAttentionShapes, CudnnAgreesWithTheReferenceWhereItFillsTheGpu) {
    const cuda::cudnn::Api* const cudnn = cuda::cudnn::load("");
    if (cudnn == nullptr) GTEST_SKIP() << "no cuDNN 9 was found";
    cuda::CudaDevice device(0, 1, cudnn);
    std::uint64_t seed = 451;
    for (const bool backward : {false, true})
        for (const bool causal : {true, false})
            for (const std::uint32_t kv_heads : {16u, 4u}) {
                const Attention kernel{Dtype::bf16, backward, causal, 2, 2048, 16, kv_heads, 128};
                expect_right(device, kernel, seed++);
            }
}

TEST_F(GpuAttentionShapes, AgreesWithTheReferenceInSinglePrecision) {
    std::uint64_t seed = 401;
    for (const bool backward : {false, true})
        for (const std::uint32_t head_dim : {4u, 32u, 40u, 64u, 80u, 128u})
            for (const std::uint32_t seq : {1u, 31u, 64u, 65u, 200u})
                for (const bool causal : {true, false})
                    expect_right(Attention{Dtype::fp32, backward, causal, 2, seq, 4, 2, head_dim}, seed++);
}

}  // namespace
}  // namespace orrery::kernels
