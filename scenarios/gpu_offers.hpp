// What a training asks of a GPU that not every one offers.
#pragma once

#include "documents/reader.hpp"
#include "strategies/plan.hpp"
#include "topology/cluster.hpp"

namespace orrery::scenarios {

/// section: "training". Throws Error with file and pointer for products in a format that the GPU has no units for, and
/// for what only CUDA has on chips without it.
void check_offered(const strategies::Training& training, const topology::Gpu& gpu, const documents::Reader& section);
/// The same of a strategy's section: algorithms are NCCL's.
void check_offered(const strategies::Strategy& strategy, const topology::Gpu& gpu, const documents::Reader& section);
/// Whether none of its GPUs is too old for FlashAttention.
bool have_flash_attention(const topology::Cluster& cluster);
/// Whether products of all its GPUs take fp8 operands in either order (hardware/compute_capability.hpp).
bool take_either_order(const topology::Cluster& cluster);

}  // namespace orrery::scenarios
