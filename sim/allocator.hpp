// The step's memory as PyTorch's allocator lays it out.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "sim/step.hpp"
#include "strategies/plan.hpp"

namespace orrery::sim {

/// With more stages the fullest alone is replayed: each takes some milliseconds.
inline constexpr std::size_t most_replayed_stages = 16;

/// Fills MemoryUse::allocator, of the roles that MemoryUse::memory is of, where tensors come from PyTorch on a GPU of
/// NVIDIA's: the whole step with all of its micro-batches. A stage that does not fit is replayed on a GPU that has
/// enough.
void add_allocator(MemoryUse& use, const strategies::Plan& plan);

/// A warning of the first stage whose tensors fit, and not as the allocator lays them out.
std::vector<std::string> allocator_doubts(const MemoryUse& use);

}  // namespace orrery::sim
