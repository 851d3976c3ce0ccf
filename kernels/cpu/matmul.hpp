// Products of bf16 matrices by oneDNN's matmul primitive, on the OpenMP threads of the calling thread.
#pragma once

#include <compare>
#include <cstdint>

#include "kernels/bfloat16.hpp"

namespace orrery::kernels::cpu {

/// c[m, n] = left[m, k] right[k, n] (+ c) (+ bias[n]), accumulated in fp32 and rounded once.
struct HalfProduct {
    std::int64_t m = 0, n = 0, k = 0;
    bool left_transposed = false, right_transposed = false;  ///< in memory [k, m], [n, k]
    bool single_result = false;                              ///< c in fp32, not bf16
    bool accumulate = false;
    bool biased = false;
    auto operator<=>(const HalfProduct&) const = default;
};

/// bias: null unless biased. Where the processor has no AVX-512, oneDNN has no such primitive: the operands are then
/// unpacked to fp32 for its sgemm. Any thread; throws DeviceError when oneDNN fails.
void multiply(const HalfProduct& product, const Bfloat16* left, const Bfloat16* right, const Bfloat16* bias, void* c);

}  // namespace orrery::kernels::cpu
