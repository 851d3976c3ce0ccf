// How much of each kind of link a step uses, for reports.
#pragma once

#include <vector>

#include "sim/prediction.hpp"
#include "sim/run_step.hpp"

namespace orrery::sim {

/// Links that can bind, by what they join and how fast they are, from the GPUs outwards. Links that can never be the
/// bottleneck (link_pressure.hpp) were not simulated, and are not there.
std::vector<LinkLevel> link_levels(const topology::Cluster& cluster, const RanStep& ran);

/// One call of every block of the step, its first operation at 0, on a device whose host is ahead of it: [block][op].
/// Empty for a block that is never called.
std::vector<std::vector<Span>> block_spans(const RanStep& ran);

}  // namespace orrery::sim
