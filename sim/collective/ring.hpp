// Rings: every rank passes to the next. NCCL src/device/all_reduce.h (runRing); Patarasuk and Yuan, Bandwidth optimal
// all-reduce algorithms for clusters of workstations, JPDC 69 (2009).
//
// n ranks, S bytes. reduce_scatter and all_gather each take n - 1 steps in which a rank sends S/n: (n - 1)/n S in all,
// the least possible. all_reduce is one after the other: 2(n - 1) steps, 2(n - 1)/n S. A ring visits a node's GPUs one
// after another, so that of the n - 1 steps `nodes - 1` cross the network. As many rings run side by side as a node has
// members (channels), each with its share of the bytes, leaving and entering through a NIC of its own: a node sends
// what one rank would, and each of its NICs one part of it.
#pragma once

#include "sim/collective/schedule.hpp"

namespace orrery::sim {

/// all_reduce, all_gather, reduce_scatter; broadcast as the chain of broadcast.hpp.
Outline ring_outline(kernels::CollectiveKind kind, const Shape& shape);

/// all_reduce, all_gather and reduce_scatter.
Schedule ring_schedule(kernels::CollectiveKind kind, const Group& group, double bytes);

/// The hops of `bytes` around the rings: O(ranks x rails) with the hops inside nodes, O(nodes x rails) without.
std::vector<Leg> ring_hops(const Group& group, double bytes, bool inside);

}  // namespace orrery::sim
