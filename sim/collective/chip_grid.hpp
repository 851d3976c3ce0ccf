// Which grid a group of chips fills on their torus: what rings along its dimensions need to know (torus_ring.hpp).
#pragma once

#include <span>

#include "sim/collective/schedule.hpp"
#include "topology/cluster.hpp"

namespace orrery::sim {

/// Extents above one; empty where the cluster's GPUs are no chips on a torus (topology::Fabric::grid), where they fill
/// no box of it (the chips of every choice of one place a dimension, whichever places those are), and where they lie on
/// several (slices) but not in the same places of each. gpus: ascending.
Grid grid_of(const topology::Cluster& cluster, std::span<const topology::GpuId> gpus);

}  // namespace orrery::sim
