// What a product of weight gradients takes longer because it adds its result to the sums of earlier micro-batches.
#pragma once

#include "calibrate/predictor.hpp"
#include "hardware/gpu.hpp"
#include "kernels/kernel.hpp"
#include "strategies/plan.hpp"

namespace orrery::sim {

/// Seconds of the device beside `alone`, what the product takes in the tables, which write 16 bits (fp32 ones 32) over
/// what was there: sums are read before, and fp32 ones take twice the bytes. A Hopper multiprocessor holds one tile,
/// whose accumulators fill its registers, so that its multiplications wait while the tile's epilogue moves these bytes
/// (CUTLASS, efficient_gemm.md: cooperative kernels, taken for what cuBLAS runs), and they come on top.
/// Ampere has several thread blocks beside each other, Blackwell two accumulators in tensor memory
/// (blackwell_functionality.md): there they run beside other tiles and cost what the memory then takes longer than the
/// multiplications; AMD's, of which nothing is known, are taken for such. 0 for other kernels, where a kernel of its
/// own adds (gradient_accumulation_fusion), on what has no multiprocessors, and for profiles that measured weight
/// gradients as training forms them.
double accumulation_seconds(const kernels::Kernel& kernel, double alone, const strategies::Plan& plan,
                            const hardware::Gpu& gpu, const calibrate::Predictor& predictor);

}  // namespace orrery::sim
