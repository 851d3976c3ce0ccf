// The step's memory as PyTorch's allocator lays it out.
#pragma once

#include <string>
#include <vector>

#include "sim/step.hpp"
#include "strategies/plan.hpp"

namespace orrery::sim {

/// Fills MemoryUse::allocator, of the roles that MemoryUse::memory is of, where the plan's software takes its tensors
/// from PyTorch. A stage that does not fit is replayed on a GPU that has enough. step: of the plan, its calls not
/// unrolled.
void add_allocator(MemoryUse& use, const strategies::Plan& plan, const strategies::StepProgram& step);

/// Warnings of stages whose tensors fit, and not as the allocator lays them out.
std::vector<std::string> allocator_doubts(const MemoryUse& use);

}  // namespace orrery::sim
