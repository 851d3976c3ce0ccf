// The GPU that the tests of this folder run on.
#pragma once

#include <gtest/gtest.h>

#include "kernels/cuda/cuda_device.hpp"
#include "kernels/operand_memory.hpp"
#include "kernels/operands.hpp"
#include "kernels/verify.hpp"

namespace orrery::kernels {

/// One device for all tests of the program. Tests are skipped where there is no GPU.
class GpuTest : public testing::Test {
protected:
    void SetUp() override;
    static cuda::CudaDevice& gpu();

    /// Expects the kernel's outputs to agree with the float64 reference.
    static void expect_right(const Kernel& kernel, std::uint64_t seed) { expect_right(gpu(), kernel, seed); }
    static void expect_right(cuda::CudaDevice& device, const Kernel& kernel, std::uint64_t seed);
    /// Every operand after one launch on freshly filled memory.
    static std::vector<std::vector<std::byte>> run(cuda::CudaDevice& device, OperandMemory& memory,
                                                   const Kernel& kernel);
};

}  // namespace orrery::kernels
