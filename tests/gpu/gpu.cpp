#include "tests/gpu/gpu.hpp"

namespace orrery::kernels {

void GpuTest::SetUp() {
    if (cuda::gpus() == 0) GTEST_SKIP() << "no GPU is visible to CUDA on this machine";
}

cuda::CudaDevice& GpuTest::gpu() {
    static auto* const device = new cuda::CudaDevice(0);  // lives on: at exit the CUDA runtime may be gone before it
    return *device;
}

void GpuTest::expect_right(const Kernel& kernel, std::uint64_t seed) {
    SCOPED_TRACE(to_text(kernel) + ", seed " + std::to_string(seed));
    ASSERT_TRUE(gpu().supports(kernel));
    const Verification verification = verify(gpu(), kernel, seed);
    EXPECT_TRUE(verification.passed()) << verification.to_text();
}

}  // namespace orrery::kernels
