#include "tests/gpu/gpu.hpp"

namespace orrery::kernels {

void GpuTest::SetUp() {
    if (cuda::gpus() == 0) GTEST_SKIP() << "no GPU is visible to CUDA on this machine";
}

cuda::CudaDevice& GpuTest::gpu() {
    static auto* const device = new cuda::CudaDevice(0);  // lives on: at exit the CUDA runtime may be gone before it
    return *device;
}

void GpuTest::expect_right(cuda::CudaDevice& device, const Kernel& kernel, std::uint64_t seed) {
    SCOPED_TRACE(to_text(kernel) + ", seed " + std::to_string(seed));
    ASSERT_TRUE(device.supports(kernel));
    const Verification verification = verify(device, kernel, seed);
    EXPECT_TRUE(verification.passed()) << verification.to_text();
}

std::vector<std::vector<std::byte>> GpuTest::run(cuda::CudaDevice& device, OperandMemory& memory,
                                                 const Kernel& kernel) {
    memory.fill(7);
    device.launch(kernel, memory.pointers(), 0);
    std::vector<std::vector<std::byte>> after;
    for (std::size_t i = 0; i < memory.operands().size(); ++i) after.push_back(memory.download(i));
    return after;
}

}  // namespace orrery::kernels
