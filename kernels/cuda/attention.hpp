// Fused attention on a GPU.
#pragma once

#include <span>

#include "kernels/cuda/place.hpp"
#include "kernels/kernel.hpp"

namespace orrery::kernels::cuda {

/// fp16 and bf16 with heads of 64, 96, 128 columns; any length.
bool supports(const Attention& kernel);
/// Scratch that launch_attention uses.
std::uint64_t scratch_bytes(const Attention& kernel);
void launch_attention(const Place& place, const Attention& kernel, std::span<void* const> operands);

}  // namespace orrery::kernels::cuda
