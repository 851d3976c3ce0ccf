#include <gtest/gtest.h>

#include <set>

#include "base/error.hpp"
#include "kernels/kernel.hpp"
#include "kernels/pointwise_traffic.hpp"

namespace orrery::kernels {
namespace {

double bytes_per_element(PointwiseKind kind, Dtype dtype) { return bytes(Pointwise{kind, dtype, 1, 1}); }

TEST(PointwiseName, ReadsBackAndIsUnique) {
    std::set<std::string_view> names;
    for (int i = 0; i < pointwise_kinds; ++i) {
        const auto kind = static_cast<PointwiseKind>(i);
        EXPECT_EQ(pointwise_from(name(kind)), kind);
        EXPECT_TRUE(names.insert(name(kind)).second) << name(kind);
    }
    EXPECT_THROW(pointwise_from("layer_norm"), Error);
    EXPECT_THROW(pointwise_from(""), Error);
}

TEST(PointwiseKernel, ComputesNothingAndMovesSomething) {
    for (int i = 0; i < pointwise_kinds; ++i) {
        const Kernel kernel = Pointwise{static_cast<PointwiseKind>(i), Dtype::bf16, 3, 5};
        EXPECT_EQ(flops(kernel), 0.0) << to_text(kernel);
        EXPECT_GT(bytes(kernel), 0.0) << to_text(kernel);
        EXPECT_EQ(intensity(kernel), 0.0) << to_text(kernel);
    }
}

TEST(PointwiseKernel, BytesFollowFromReadsAndWrites) {
    EXPECT_EQ(bytes_per_element(PointwiseKind::add, Dtype::bf16), 6);  // two read, one written
    EXPECT_EQ(bytes_per_element(PointwiseKind::add, Dtype::fp32), 12);
    EXPECT_EQ(bytes_per_element(PointwiseKind::fill, Dtype::fp32), 4);           // written only
    EXPECT_EQ(bytes_per_element(PointwiseKind::bias_gradient, Dtype::bf16), 2);  // read only
    EXPECT_EQ(bytes_per_element(PointwiseKind::cast, Dtype::bf16), 6);           // two bytes one side, four the other
    EXPECT_EQ(bytes_per_element(PointwiseKind::dropout, Dtype::bf16), 5);        // a byte of mask
    EXPECT_EQ(bytes_per_element(PointwiseKind::swiglu, Dtype::bf16), 6);         // two inputs an output
    EXPECT_EQ(bytes_per_element(PointwiseKind::adam, Dtype::bf16), 30);          // seven fp32 passes and the copy
}

TEST(PointwiseKernel, BytesGrowWithRowsTimesColumns) {
    const Pointwise one{PointwiseKind::layernorm, Dtype::bf16, 1, 1};
    const Pointwise huge{PointwiseKind::layernorm, Dtype::bf16, 1u << 31, 1u << 31};
    EXPECT_DOUBLE_EQ(bytes(huge), 0x1p62 * bytes(one));  // beyond 64 bits of bytes per product of counts
}

TEST(PointwiseKernel, ABackwardMovesAtLeastWhatTheGradientNeeds) {
    // dy in and dx out are two operand passes.
    using enum PointwiseKind;
    for (const PointwiseKind kind : {layernorm_backward, rmsnorm_backward, softmax_backward, gelu_backward,
                                     swiglu_backward, dropout_backward, bias_dropout_add_backward, rope_backward})
        EXPECT_GE(bytes_per_element(kind, Dtype::bf16), 4) << name(kind);
}

}  // namespace
}  // namespace orrery::kernels
