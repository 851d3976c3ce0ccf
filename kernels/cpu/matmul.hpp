// Products of matrices of 16 bits by oneDNN's matmul primitive where it has one, on the OpenMP threads of the calling
// thread.
#pragma once

#include <compare>
#include <cstdint>

#include "kernels/number_format.hpp"

namespace orrery::kernels::cpu {

/// c[m, n] = left[m, k] right[k, n] (+ c) (+ bias[n]), accumulated in fp32 and rounded once.
struct HalfProduct {
    Format format = Format::bf16;  ///< or fp16
    std::int64_t m = 0, n = 0, k = 0;
    bool left_transposed = false, right_transposed = false;  ///< in memory [k, m], [n, k]
    bool single_result = false;                              ///< c in fp32
    bool accumulate = false;
    bool biased = false;
    auto operator<=>(const HalfProduct&) const = default;
};

/// Operands in the product's format; bias: null unless biased. Where the processor has no AVX-512, and of fp16, oneDNN
/// has no such primitive: the operands are then unpacked to fp32 for its sgemm. Any thread; throws DeviceError when
/// oneDNN fails.
void multiply(const HalfProduct& product, const void* left, const void* right, const void* bias, void* c);

}  // namespace orrery::kernels::cpu
