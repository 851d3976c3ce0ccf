// What kernels of a step in fp8 or fp4 take longer, or shorter, than tables and bytes say, by how scales come about.
#pragma once

#include "kernels/kernel.hpp"
#include "strategies/plan.hpp"

namespace orrery::sim {

/// Over the time of the tables: of narrow products, of the kernels that cast their operands (add_quantisation), and of
/// attention where it is in fp8 (the tables are of 16 bits). 1 for all others, and of products and casts where software
/// other than Transformer Engine runs, of which nothing is known.
double narrow_seconds_share(const kernels::Kernel& kernel, const strategies::Plan& plan, int compute_capability);

}  // namespace orrery::sim
