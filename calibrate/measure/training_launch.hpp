// How training launches what a program prices.
#pragma once

#include "kernels/device.hpp"
#include "kernels/kernel.hpp"
#include "kernels/settings.hpp"

namespace orrery::calibrate {

struct TrainingLaunch {
    kernels::Kernel kernel;
    kernels::Settings settings{};
};

/// Attention that draws a dropout draws any. The gradient of a weight is added to what is there, in fp32 beside
/// operands in 16 bits and fewer (grad_reduce_precision's default), and formed as its transpose, [outputs, inputs], as
/// weights lie. Products in fp8 have scales, are forward passes of turned operands, and of gradients e5m2 without fast
/// accumulation (strategies/partition/narrow_products.hpp).
TrainingLaunch training_launch(const kernels::Kernel& priced);

/// Whether the device runs what is launched for it.
bool runs(const kernels::Device& device, const kernels::Kernel& priced);

}  // namespace orrery::calibrate
