// Reduction in the network's switches. Graham et al., Scalable Hierarchical Aggregation Protocol (SHARP), COM-HPC 2016;
// NCCL's CollNet: src/transport/coll_net.cc, tuning.cc (CollnetDirect).
//
// Every node sends its sum up to the switches once and gets the result once: S leaves and S enters a node, whatever
// their number, in one start-up each way; every GPU reduces its share inside the node and hands it to its own NIC. Half
// of what a ring moves. It needs an InfiniBand fabric with SHARP and NCCL's plugin, so `auto` never takes it.
#pragma once

#include "sim/collective/schedule.hpp"

namespace orrery::sim {

Outline in_network_outline(const Shape& shape);  ///< of all_reduce
/// Drawn as a ring of S between the nodes: right at every NIC, and an upper bound beyond the leaf switches, which add
/// up what comes from below.
Schedule in_network_schedule(const Group& group, double bytes);

}  // namespace orrery::sim
