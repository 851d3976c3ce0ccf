// The memory-bound kernels of a GPU. Each takes the operands that kernels/operands.hpp lists for its kind.
#pragma once

#include <span>

#include "kernels/cuda/place.hpp"
#include "kernels/kernel.hpp"

namespace orrery::kernels::cuda {

using Operands = std::span<void* const>;

void launch_norm(const Place& place, const Pointwise& kernel, Operands operands);
void launch_norm_backward(const Place& place, const Pointwise& kernel, Operands operands);
void launch_softmax(const Place& place, const Pointwise& kernel, Operands operands);
void launch_cross_entropy(const Place& place, const Pointwise& kernel, Operands operands);
void launch_activation(const Place& place, const Pointwise& kernel, Operands operands);
void launch_dropout(const Place& place, const Pointwise& kernel, Operands operands);
void launch_elementwise(const Place& place, const Pointwise& kernel, Operands operands);
void launch_rope(const Place& place, const Pointwise& kernel, Operands operands);
void launch_embedding(const Place& place, const Pointwise& kernel, Operands operands);
void launch_transpose(const Place& place, const Pointwise& kernel, Operands operands);
void launch_adam(const Place& place, const Pointwise& kernel, Operands operands);
void launch_moe(const Place& place, const Pointwise& kernel, Operands operands);
void launch_bias_gradient(const Place& place, const Pointwise& kernel, Operands operands);
void launch_sum_of_squares(const Place& place, const Pointwise& kernel, Operands operands);

/// out[c] = sum over rows of values[rows, cols], always in the same order.
void sum_columns(const Place& place, const float* values, std::uint64_t rows, std::uint64_t cols, float* out);

/// Whether launch_pointwise runs it: every kind but the loss over a part of the vocabulary, in fp32, tf32 (as fp32),
/// fp16 and bf16, below 2^32 - 2^16 columns.
bool supports(const Pointwise& kernel);
/// Scratch that launch_pointwise uses.
std::uint64_t scratch_bytes(const Pointwise& kernel, std::uint32_t multiprocessors);
void launch_pointwise(const Place& place, const Pointwise& kernel, Operands operands);

}  // namespace orrery::kernels::cuda
