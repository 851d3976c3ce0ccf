// Products of experts on TPUs, in the tiles of the kernel that runs them.
#pragma once

#include "hardware/gpu.hpp"
#include "kernels/kernel.hpp"
#include "strategies/plan.hpp"

namespace orrery::sim {

/// Whether a product is of the experts that a rank has, one of each. As many heads look alike.
bool is_of_experts(const kernels::Gemm& product, const strategies::Plan& plan);

/// How many times the multiplications of a product of experts a TPU executes. MaxText's grouped products (megablox,
/// maxtext/kernels/megablox/backend.py) go in tiles of 512 rows and 1,024 of the other sizes, or as many as there are
/// (configs/base.yml, wi_tile_* and wo_tile_*); one that two experts share is gone through for each of them (num_tiles
/// <= tiles_m + num_groups - 1, all but where the router happens to fill one), and sizes that fill no tile are padded.
/// The gate and the upper half of a gated layer are products of their own. 1 for other kernels and on GPUs, and where
/// experts have a capacity, for which it runs dense products.
double tiled_share(const kernels::Kernel& kernel, const strategies::Plan& plan, const hardware::Gpu& chip);

}  // namespace orrery::sim
