// The most that a GPU can compute in a number format.
#pragma once

#include "hardware/gpu.hpp"
#include "kernels/kernel.hpp"

namespace orrery::calibrate {

/// The datasheet's dense peak, FLOP/s; 0 where the GPU does not offer the format.
double peak_flops(const hardware::Gpu& gpu, kernels::Dtype dtype);

}  // namespace orrery::calibrate
