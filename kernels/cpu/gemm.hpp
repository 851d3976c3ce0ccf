// Matrix products through oneDNN, on the OpenMP threads of the calling thread.
#pragma once

#include <cstdint>
#include <string>

#include "kernels/cpu/pointwise.hpp"
#include "kernels/kernel.hpp"

namespace orrery::kernels::cpu {

/// A matrix in memory: transposed, its rows are columns of what takes part in the product.
struct Matrix {
    const float* data;
    std::int64_t stride;  ///< elements from one row in memory to the next
    bool transposed = false;
};

/// c[m, n] (rows `stride` apart) = alpha left[m, k] right[k, n] + beta c. Throws DeviceError when oneDNN fails.
void multiply(std::int64_t m, std::int64_t n, std::int64_t k, float alpha, Matrix left, Matrix right, float beta,
              float* c, std::int64_t stride);

/// The products of a Gemm of fp32, bf16 or fp16, laid out as operands.hpp says.
void run_gemm(const Gemm& g, const Memory& memory);

/// "oneDNN 2.6.3 (AVX512_CORE_BF16)": the version, and the instructions it found.
std::string gemm_software();

}  // namespace orrery::kernels::cpu
