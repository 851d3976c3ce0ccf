// Keys that are absent, whose value follows from another section.
#pragma once

#include "documents/reader.hpp"
#include "strategies/plan.hpp"
#include "topology/cluster.hpp"

namespace orrery::scenarios {

/// strategy, training: the sections that were read into the plan. Throws Error for parts of sequences on GPUs that are
/// too old for the fused attention which they need.
void fill_across_sections(const documents::Reader& strategy, const documents::Reader& training,
                          const topology::Cluster& cluster, strategies::Plan& plan);

}  // namespace orrery::scenarios
