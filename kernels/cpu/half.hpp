// 16-bit operands on the CPU: the loops are fp32's, on blocks that are unpacked to fp32 while a cache holds them.
#pragma once

#include <cstddef>

#include "kernels/cpu/pointwise.hpp"
#include "kernels/kernel.hpp"
#include "kernels/number_format.hpp"

namespace orrery::kernels::cpu {

/// Of the formats that are unpacked.
constexpr bool is_half(Format format) { return format == Format::bf16 || format == Format::fp16; }

/// Elements from `first` on of an array of fp32, bf16 or fp16 as fp32, and back: rounded to nearest, ties to even.
void load(Format format, const void* from, std::size_t first, float* to, std::size_t count);
void store(Format format, const float* from, void* to, std::size_t first, std::size_t count);
/// The same elements where they are if they are fp32, else unpacked to `scratch`.
float* as_floats(Format format, float* memory, std::size_t first, float* scratch, std::size_t count);

/// A kernel whose rows are independent but for sums over them, operands in fp32 and a 16-bit format mixed: `run` takes
/// blocks of rows in fp32. Sums over rows (gradients of a norm's weights and of a bias) stay in fp32 until the end.
void run_in_blocks(const Pointwise& p, const Memory& memory, Run run);

}  // namespace orrery::kernels::cpu
