// Products and casts in fp8 and fp4 as Transformer Engine runs them.
#include "sim/narrow_kernels.hpp"

#include <gtest/gtest.h>

#include "hardware/compute_capability.hpp"
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
    EXPECT_EQ(narrow_seconds_share(cast, plan(Dtype::fp8, Fp8Recipe::blockwise), blackwell), 1);
    EXPECT_EQ(narrow_seconds_share(cast, plan(Dtype::bf16, Fp8Recipe::mxfp8), blackwell), 1);
    auto other = mx;
    other.training.software = hardware::Software::tensorflow;
    EXPECT_EQ(narrow_seconds_share(cast, other, blackwell), 1);
}

}  // namespace
}  // namespace orrery::sim
