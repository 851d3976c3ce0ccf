// Fused attention on a GPU.
#pragma once

#include <span>

#include "kernels/cuda/place.hpp"
#include "kernels/kernel.hpp"
#include "kernels/settings.hpp"

namespace orrery::kernels::cuda {

/// fp16 and bf16 with heads of 64, 80, 96, 128 columns; fp32 and tf32 (as fp32) with heads up to 128; any length.
bool supports(const Attention& kernel);
/// Scratch that launch_attention uses.
std::uint64_t scratch_bytes(const Attention& kernel);
/// settings: row_stride, in 16 bits a multiple of 8, else Error is thrown; and the dropout.
void launch_attention(const Place& place, const Attention& kernel, std::span<void* const> operands,
                      const Settings& settings);

}  // namespace orrery::kernels::cuda
