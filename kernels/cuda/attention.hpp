// Fused attention on a GPU.
#pragma once

#include <span>

#include "kernels/cuda/place.hpp"
#include "kernels/kernel.hpp"
#include "kernels/settings.hpp"

namespace orrery::kernels::cuda {

/// On tensor cores fp16, bf16 and tf32 with heads of 64, 80, 96, 128 columns; on the ordinary cores fp32 with heads up
/// to 128, and tf32 (as fp32) with those that tensor cores do not take; any length.
bool supports(const Attention& kernel);
/// Elements from one token to the next in q and dq, in k, v, dk and dv, and in o and do.
struct TokenStrides {
    std::uint64_t q, kv, o;
};
TokenStrides token_strides(const Attention& kernel, const Settings& settings);
/// Of the products of queries and keys: 1 / sqrt(head_dim).
float score_scale(const Attention& kernel);
/// Scratch that launch_attention uses.
std::uint64_t scratch_bytes(const Attention& kernel);
/// settings: row_stride, on tensor cores a multiple of 16 bytes, else Error is thrown; and the dropout.
void launch_attention(const Place& place, const Attention& kernel, std::span<void* const> operands,
                      const Settings& settings);

}  // namespace orrery::kernels::cuda
