// Kernels over images and attention of other shapes: what they count, and that the CPU computes what the reference
// says.
#include <gtest/gtest.h>

#include <cmath>

#include "base/error.hpp"
#include "kernels/device.hpp"
#include "kernels/operands.hpp"
#include "kernels/verify.hpp"

namespace orrery::kernels {
namespace {

/// Pairs one by one; a causal query's own key as a half.
double counted_pairs(const Attention& a) {
    double pairs = 0;
    for (std::uint32_t i = 0; i < a.seq; ++i)
        for (std::uint32_t j = 0; j < a.keys(); ++j) {
            const std::int64_t position = std::int64_t{i} + a.keys() - a.seq, distance = position - j;
            if (a.causal && distance < 0) continue;
            if (a.window != 0 && std::abs(distance) >= a.window) continue;
            pairs += a.causal && distance == 0 ? 0.5 : 1.0;
        }
    return pairs;
}

TEST(AttentionPairs, AreThoseCountedOneByOne) {
    for (const bool causal : {false, true})
        for (const std::uint32_t seq : {1U, 2U, 7U, 16U, 33U})
            for (const std::uint32_t more : {0U, 1U, 5U, 40U})
                for (const std::uint32_t window : {0U, 1U, 2U, 6U, 16U, 34U, 100U}) {
                    const Attention a{Dtype::bf16, false, causal, 1, seq, 1, 1, 1, seq + more, window};
                    EXPECT_DOUBLE_EQ(a.pairs(), counted_pairs(a)) << to_text(Kernel(a));
                }
}

TEST(AttentionPairs, OfFewerKeysThanQueriesAreAll) {
    EXPECT_EQ((Attention{.causal = false, .batch = 1, .seq = 9, .heads = 1, .kv_heads = 1, .head_dim = 1, .key_seq = 4}
                   .pairs()),
              36);
}

TEST(AttentionPairs, OfASquareAreHalfOfIt) {
    const Attention a{.batch = 2, .seq = 2048, .heads = 12, .kv_heads = 12, .head_dim = 128};
    EXPECT_EQ(flops(a), 4.0 * 2 * 12 * 2048 * 2048 * 128 / 2);
    EXPECT_EQ(to_text(Kernel(a)), "attention bf16 b2 s2048 h12 kv12 d128 causal");
    Attention same = a;
    same.key_seq = 2048;
    EXPECT_EQ(same, a);
    EXPECT_EQ(to_text(Kernel(same)), to_text(Kernel(a)));
}

TEST(AttentionPairs, TextsOfOtherShapesDiffer) {
    EXPECT_EQ(to_text(Kernel(Attention{Dtype::bf16, true, true, 1, 512, 12, 4, 64, 2048, 1024})),
              "attention-backward bf16 b1 s512 k2048 h12 kv4 d64 causal window 1024");
}

TEST(AttentionOperands, FewerKeysThanQueriesAreRefusedWhereAQueryHasAPosition) {
    EXPECT_THROW(operands(Attention{Dtype::fp32, false, true, 1, 8, 1, 1, 4, 4}), Error);
    EXPECT_THROW(operands(Attention{Dtype::fp32, false, false, 1, 8, 1, 1, 4, 4, 2}), Error);
    EXPECT_EQ(operands(Attention{Dtype::fp32, false, false, 1, 8, 1, 1, 4, 4})[1].elements, 16U);
}

TEST(AttentionBytes, CountTheKeysThatAreSeen) {
    // One query sees the last three keys: q, o and three of k and of v.
    EXPECT_EQ(bytes(Attention{Dtype::fp32, false, true, 1, 1, 1, 1, 8, 100, 3}), 4 * (2 * 8 + 2 * 3 * 8));
}

class OnCpu : public ::testing::Test {
protected:
    void SetUp() override {
        try {
            device_ = open_device("cpu");
        } catch (const Error&) {
            GTEST_SKIP() << "this build has no CPU device";
        }
    }
    void expect_right(Kernel kernel) {
        for (const Dtype dtype : {Dtype::fp32, Dtype::bf16, Dtype::fp16}) {
            kernel = with_dtype(kernel, dtype);
            ASSERT_TRUE(device_->supports(kernel)) << to_text(kernel);
            const Verification found = verify(*device_, kernel, 5);
            EXPECT_TRUE(found.passed()) << to_text(kernel) << "\n" << found.to_text();
        }
    }
    std::unique_ptr<Device> device_;
};

TEST_F(OnCpu, AttentionOfOtherLengthsAndInWindows) {
    for (const bool backward : {false, true}) {
        expect_right(Attention{Dtype::fp32, backward, false, 2, 50, 4, 2, 32, 300});
        expect_right(Attention{Dtype::fp32, backward, false, 1, 300, 2, 2, 16, 50});
        expect_right(Attention{Dtype::fp32, backward, true, 1, 130, 2, 1, 16, 700});
        expect_right(Attention{Dtype::fp32, backward, true, 1, 600, 2, 2, 16, 0, 70});
        expect_right(Attention{Dtype::fp32, backward, false, 1, 600, 2, 2, 16, 0, 33});
        expect_right(Attention{Dtype::fp32, backward, true, 1, 140, 2, 1, 16, 900, 100});  // keys that nobody sees
        expect_right(Attention{Dtype::fp32, backward, true, 1, 300, 1, 1, 16, 0, 1});      // each its own key
    }
}

constexpr GemmPass passes[] = {GemmPass::forward, GemmPass::data_gradient, GemmPass::weight_gradient};

TEST_F(OnCpu, Convolutions) {
    for (const GemmPass pass : passes) {
        expect_right(Convolution{Dtype::fp32, pass, 2, 3, 20, 17, 8, 7, 7, 2, 3});
        expect_right(Convolution{Dtype::fp32, pass, 2, 16, 9, 11, 24, 1, 1});
        expect_right(Convolution{Dtype::fp32, pass, 2, 16, 9, 12, 8, 1, 1, 2});          // pixels left over
        expect_right(Convolution{Dtype::fp32, pass, 1, 12, 8, 8, 8, 3, 3, 1, 1, 1, 4});  // groups
        expect_right(Convolution{Dtype::fp32, pass, 1, 8, 8, 8, 8, 3, 3, 2, 1, 1, 8});   // depthwise
        expect_right(Convolution{Dtype::fp32, pass, 1, 4, 15, 13, 6, 3, 2, 2, 2, 2});    // dilation
    }
}

TEST_F(OnCpu, Pooling) {
    for (const PoolingKind kind : {PoolingKind::maximum, PoolingKind::average})
        for (const bool backward : {false, true}) {
            expect_right(Pooling{kind, Dtype::fp32, backward, 2, 8, 15, 12, 3, 3, 2, 1});
            expect_right(Pooling{kind, Dtype::fp32, backward, 2, 5, 8, 8, 2, 2, 2, 0});
            expect_right(Pooling{kind, Dtype::fp32, backward, 3, 16, 7, 7, 7, 7, 1, 0});  // global
        }
}

TEST_F(OnCpu, BatchNorms) {
    for (const bool backward : {false, true}) {
        expect_right(BatchNorm{Dtype::fp32, backward, 100, 24});
        expect_right(BatchNorm{Dtype::fp32, backward, 20000, 3});
        expect_right(BatchNorm{Dtype::fp32, backward, 6, 64});
    }
}

TEST(Convolution, CountsItsProductsAndBytes) {
    // ResNet's first: 64 x 3 x 7 x 7 weights at each of 112 x 112 pixels.
    const Convolution c{.batch = 4,
                        .channels = 3,
                        .rows = 224,
                        .columns = 224,
                        .outputs = 64,
                        .kernel_rows = 7,
                        .kernel_columns = 7,
                        .stride = 2,
                        .padding = 3};
    EXPECT_EQ(c.output_rows(), 112U);
    EXPECT_EQ(c.weights(), 9408U);
    EXPECT_EQ(flops(c), 2.0 * 4 * 112 * 112 * 9408);
    EXPECT_EQ(bytes(c), 2.0 * (4 * 224 * 224 * 3 + 4 * 112 * 112 * 64 + 9408));
    EXPECT_EQ(to_text(Kernel(c)), "convolution bf16 n4 3x224x224 -> 64 7x7 stride 2 pad 3");
}

TEST(Convolution, OfOnePixelIsAProduct) {
    const Convolution c{.batch = 8, .channels = 64, .rows = 14, .columns = 14, .outputs = 256};
    EXPECT_EQ(flops(c), flops(Gemm{Dtype::bf16, 1, 8 * 14 * 14, 256, 64}));
    EXPECT_EQ(bytes(c), bytes(Gemm{Dtype::bf16, 1, 8 * 14 * 14, 256, 64}));
}

TEST(Convolution, ImpossibleShapesAreRefused) {
    EXPECT_THROW(operands(Convolution{.batch = 1, .channels = 3, .rows = 4, .columns = 4, .outputs = 4, .groups = 2}),
                 Error);
    EXPECT_THROW(
        operands(Convolution{
            .batch = 1, .channels = 1, .rows = 2, .columns = 2, .outputs = 1, .kernel_rows = 3, .kernel_columns = 3}),
        Error);
    EXPECT_THROW(operands(Convolution{.batch = 1, .channels = 1, .rows = 2, .columns = 2, .outputs = 0}), Error);
    EXPECT_THROW(operands(kernels::Pooling{.batch = 1, .channels = 1, .rows = 4, .columns = 4, .padding = 1}), Error);
}

TEST(ImageTexts, NameEveryField) {
    EXPECT_EQ(to_text(Kernel(Convolution{Dtype::fp32, GemmPass::weight_gradient, 1, 8, 9, 10, 16, 3, 2, 2, 1, 3, 4})),
              "convolution fp32 n1 8x9x10 -> 16 3x2 stride 2 pad 1 dilation 3 groups 4 weight-gradient");
    EXPECT_EQ(to_text(Kernel(kernels::Pooling{PoolingKind::average, Dtype::bf16, true, 2, 64, 7, 8, 7, 8})),
              "average-pooling-backward bf16 n2 64x7x8 7x8");
    EXPECT_EQ(to_text(Kernel(BatchNorm{Dtype::bf16, false, 100, 64})), "batch-norm bf16 100x64");
}

}  // namespace
}  // namespace orrery::kernels
