// Kernels over images on the CPU.
#pragma once

#include "kernels/cpu/pointwise.hpp"
#include "kernels/kernel.hpp"

namespace orrery::kernels::cpu {

/// All of them fp32 or bf16, laid out as operands.hpp says, on the OpenMP threads of the calling thread.

/// By oneDNN, in the layout that it wants for its weights (which are brought into it each time: they are small).
void run_convolution(const Convolution& c, const Memory& memory);
/// Threads share the images.
void run_pooling(const Pooling& p, const Memory& memory);
/// Threads share the rows; their sums are put together in fp32.
void run_batch_norm(const BatchNorm& b, const Memory& memory);

}  // namespace orrery::kernels::cpu
