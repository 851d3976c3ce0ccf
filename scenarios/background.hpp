// Background traffic on a cluster: which flows an entry of /perturbations/background stands for.
#pragma once

#include <vector>

#include "scenarios/perturbations.hpp"
#include "topology/cluster.hpp"

namespace orrery::scenarios {

/// One flow between nodes, routed as a message between these GPUs is.
struct BackgroundFlow {
    topology::GpuId from = 0, to = 0;
    bool fabric_only = false;  ///< begins and ends at the NICs: takes no link inside a node
    double bytes_per_second = 0;
    Window when;
};

/// Members of equal ranges are paired in order; a single one sends to, or receives from, each of a range. Nodes without
/// a NIC's number use all their NICs, the same number on both sides, each at its part of the rate. Throws Error without
/// a place for what the cluster lacks, ranges of unequal length, and ends in one node, whose traffic shares nothing
/// with a step's (transfers inside nodes take their calibrated time).
std::vector<BackgroundFlow> flows_of(const Background& background, const topology::Cluster& cluster);

}  // namespace orrery::scenarios
