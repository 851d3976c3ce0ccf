// The memory that a step's ranks need against what their machines have.
#pragma once

#include <string>
#include <vector>

#include "sim/populations.hpp"
#include "sim/run_step.hpp"
#include "sim/step.hpp"

namespace orrery::sim {

/// Of every stage the peak and what the framework keeps, against the smallest GPU that it runs on; of hosts the node
/// whose ranks keep the most in its memory. ranks: of the step.
MemoryUse memory_use(const RanStep& ran, const topology::Cluster& cluster, const strategies::Plan& plan,
                     const std::vector<Population>& ranks);

/// Warnings of what is kept in the memory of hosts: more than a node has; copies whose times were not measured.
std::vector<std::string> host_doubts(const RanStep& ran, const MemoryUse& use);

}  // namespace orrery::sim
