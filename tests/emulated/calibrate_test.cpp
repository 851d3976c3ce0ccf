// What the calibrator measures on a GPU is what training launches there.
#include <gtest/gtest.h>

#include "calibrate/measure/check_result.hpp"
#include "calibrate/measure/training_launch.hpp"
#include "calibrate/measure/workload.hpp"
#include "kernels/cuda/cuda_device.hpp"
#include "tests/emulated/machine/machine.hpp"

namespace orrery::calibrate {
namespace {

using kernels::Dtype;
using kernels::Gemm;
using kernels::GemmPass;

constexpr GemmPass passes[] = {GemmPass::forward, GemmPass::data_gradient, GemmPass::weight_gradient};

/// Inputs, outputs and tokens of a layer differ: none can stand for another.
Gemm product(Dtype dtype, GemmPass pass) {
    constexpr std::uint32_t tokens = 48, in = 64, out = 32;
    switch (pass) {
        case GemmPass::forward: return {dtype, 1, tokens, out, in, pass};
        case GemmPass::data_gradient: return {dtype, 1, tokens, in, out, pass};
        case GemmPass::weight_gradient: break;
    }
    return {dtype, 1, in, out, tokens, GemmPass::weight_gradient};
}

TEST(EmulatedCalibration, LaunchesEveryPassOfAProduct) {
    emulated::set_up({});
    kernels::cuda::CudaDevice gpu(0);
    for (const Dtype dtype : {Dtype::bf16, Dtype::tf32, Dtype::fp8})
        for (const GemmPass pass : passes) {
            const Gemm priced = product(dtype, pass);
            SCOPED_TRACE(kernels::to_text(priced));
            EXPECT_TRUE(runs(gpu, priced));
            EXPECT_EQ(kernel_fault(gpu, priced), "");
            const auto workload = kernel_workload(gpu, priced);
            for (std::size_t set = 0; set < std::min<std::size_t>(workload->sets(), 2); ++set) workload->run(set, 0);
            gpu.synchronize();
        }
}

TEST(EmulatedCalibration, ProductsInFp8AreForwardPassesOfTurnedOperands) {
    const TrainingLaunch forward = training_launch(product(Dtype::fp8, GemmPass::forward)),
                         input = training_launch(product(Dtype::fp8, GemmPass::data_gradient)),
                         weight = training_launch(product(Dtype::fp8, GemmPass::weight_gradient));
    EXPECT_EQ(std::get<Gemm>(forward.kernel), (Gemm{Dtype::fp8, 1, 48, 32, 64, GemmPass::forward}));
    EXPECT_EQ(std::get<Gemm>(input.kernel), (Gemm{Dtype::fp8, 1, 48, 64, 32, GemmPass::forward}));
    EXPECT_EQ(std::get<Gemm>(weight.kernel), (Gemm{Dtype::fp8, 1, 32, 64, 48, GemmPass::forward}));
    EXPECT_FALSE(forward.settings.narrow.gradient);
    EXPECT_TRUE(input.settings.narrow.gradient);
    EXPECT_TRUE(weight.settings.narrow.gradient);
    EXPECT_TRUE(weight.settings.accumulate);
    EXPECT_EQ(weight.settings.result, Dtype::fp32);
}

}  // namespace
}  // namespace orrery::calibrate
