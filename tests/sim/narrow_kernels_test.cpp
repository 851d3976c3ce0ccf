// Products and casts in fp8 and fp4 as Transformer Engine runs them.
#include "sim/narrow_kernels.hpp"

#include <gtest/gtest.h>

#include "hardware/compute_capability.hpp"
#include "hardware/narrow_attention.hpp"
#include "hardware/narrow_formats.hpp"
#include "tests/sim/bench.hpp"

namespace orrery::sim {
namespace {

using hardware::blackwell, hardware::hopper, hardware::Scales;
using kernels::Dtype, kernels::Gemm, kernels::Pointwise, kernels::PointwiseKind;
using strategies::Fp8Recipe;

strategies::Plan plan(Dtype compute, Fp8Recipe recipe) {
    strategies::Plan plan = small_scenario().plan;
    plan.training.precision.compute = compute;
    plan.training.fp8_recipe = recipe;
    plan.training.software = hardware::Software::transformer_engine;
    return plan;
}

constexpr Pointwise cast{PointwiseKind::transpose, Dtype::bf16, 4096, 4096},
    maxima{PointwiseKind::sum_of_squares, Dtype::bf16, 4096, 4096},
    norm{PointwiseKind::sum_of_squares, Dtype::bf16, 1, 4096}, sum{PointwiseKind::add, Dtype::bf16, 4096, 4096};

TEST(NarrowKernels, GoByTheirScales) {
    const auto mx = plan(Dtype::fp8, Fp8Recipe::mxfp8);
    const hardware::NarrowTimes times = hardware::narrow_times(Scales::mxfp8, blackwell);
    EXPECT_EQ(narrow_seconds_share(Gemm{Dtype::fp8, 1, 512, 512, 512}, mx, blackwell), times.forward);
    EXPECT_EQ(narrow_seconds_share(Gemm{Dtype::fp8, 1, 512, 512, 512, kernels::GemmPass::data_gradient}, mx, blackwell),
              times.data_gradient);
    EXPECT_EQ(narrow_seconds_share(cast, mx, blackwell), times.cast);
    EXPECT_EQ(narrow_seconds_share(Gemm{Dtype::bf16, 1, 512, 512, 512}, mx, blackwell), 1) << "logits";
    EXPECT_EQ(narrow_seconds_share(norm, mx, blackwell), 1) << "of all gradients";
    EXPECT_EQ(narrow_seconds_share(sum, mx, blackwell), 1);
    EXPECT_EQ(narrow_seconds_share(maxima, plan(Dtype::fp4, Fp8Recipe::delayed), blackwell),
              hardware::narrow_times(Scales::nvfp4, blackwell).cast);
    EXPECT_EQ(narrow_seconds_share(maxima, plan(Dtype::fp8, Fp8Recipe::tensorwise), blackwell),
              hardware::narrow_times(Scales::current, blackwell).cast);
    EXPECT_LT(narrow_seconds_share(cast, plan(Dtype::fp8, Fp8Recipe::delayed), blackwell), 1)
        << "Blackwell's products need no turned copy";
}

TEST(NarrowKernels, AreAsPricedElsewhere) {
    const auto mx = plan(Dtype::fp8, Fp8Recipe::mxfp8);
    EXPECT_EQ(narrow_seconds_share(cast, mx, hopper), 1);
    const auto blocks = plan(Dtype::fp8, Fp8Recipe::blockwise);
    EXPECT_EQ(narrow_seconds_share(cast, blocks, hopper), 1);
    for (const kernels::Kernel& kernel : {kernels::Kernel(cast), kernels::Kernel(Gemm{Dtype::fp8, 1, 512, 512, 512})})
        EXPECT_EQ(narrow_seconds_share(kernel, blocks, blackwell), narrow_seconds_share(kernel, mx, blackwell))
            << "Blackwell runs them as MXFP8";
    EXPECT_EQ(narrow_seconds_share(cast, plan(Dtype::bf16, Fp8Recipe::mxfp8), blackwell), 1);
    auto other = mx;
    other.training.software = hardware::Software::tensorflow;
    EXPECT_EQ(narrow_seconds_share(cast, other, blackwell), 1);
}

/// Its tables are of 16 bits: attention in fp8 takes what cuDNN's rates say of its heads.
TEST(NarrowKernels, AttentionIsOfItsHeads) {
    auto fp8 = plan(Dtype::fp8, Fp8Recipe::mxfp8);
    const kernels::Attention whole{Dtype::bf16, false, true, 1, 4096, 32, 8, 128};
    kernels::Attention windowed = whole, wide = whole, backward = whole;
    windowed.window = 128;
    wide.head_dim = 192;
    backward.backward = true;
    EXPECT_EQ(narrow_seconds_share(whole, fp8, blackwell), 1) << "in 16 bits where nothing is said";
    fp8.training.fp8_attention = true;
    using hardware::AttentionHeads, hardware::narrow_attention_rate;
    const auto rate = [](AttentionHeads heads, bool back) {
        return narrow_attention_rate(heads, back, 4096, blackwell);
    };
    EXPECT_EQ(narrow_seconds_share(whole, fp8, blackwell), 1 / rate(AttentionHeads::grouped, false));
    EXPECT_EQ(narrow_seconds_share(backward, fp8, blackwell), 1 / rate(AttentionHeads::grouped, true));
    EXPECT_EQ(narrow_seconds_share(windowed, fp8, blackwell), 1 / rate(AttentionHeads::windowed, false));
    EXPECT_EQ(narrow_seconds_share(wide, fp8, blackwell), 1 / rate(AttentionHeads::latent, false));
}

}  // namespace
}  // namespace orrery::sim
