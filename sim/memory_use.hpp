// The memory that a step's ranks need against what their machines have.
#pragma once

#include <string>
#include <vector>

#include "sim/populations.hpp"
#include "sim/run_step.hpp"
#include "sim/step.hpp"

namespace orrery::sim {

/// By role: bytes of the smallest GPU that it runs on, and what the framework keeps there.
struct MemoryLimits {
    std::vector<std::uint64_t> capacity;
    std::vector<hardware::FrameworkMemory> framework;
};
/// ranks: of the step.
MemoryLimits memory_limits(const RanStep& ran, const strategies::Training& training,
                           const std::vector<Population>& ranks);

/// Of every stage the peak and what the framework keeps, against what there is: of several roles of a stage the one
/// that has least to spare. The step may be another of the same roles.
MemoryUse memory_use(const strategies::StepProgram& step, const MemoryLimits& limits,
                     strategies::OverTime over_time = strategies::OverTime::left_out);

/// Of hosts the node whose ranks keep the most in its memory.
void add_hosts(MemoryUse& use, const strategies::StepProgram& step, const topology::Cluster& cluster,
               const strategies::RankPlacement& placement);

/// Warnings of what is kept in the memory of hosts: more than a node has; copies whose times were not measured.
std::vector<std::string> host_doubts(const RanStep& ran, const MemoryUse& use);

}  // namespace orrery::sim
