// Rings along the dimensions of a torus. Jain and Sabharwal, Optimal bucket algorithms for large MPI collectives on
// torus interconnects, ICS 2010; Ying et al., Image classification at supercomputer scale (arXiv 1811.06992) for TPUs.
//
// A group that fills a grid d1 x d2 x ... x dm. reduce_scatter along the first dimension, then along the second with
// what is left, and so on; all_gather the way back. A rank sends (d1 - 1)/d1 S, then (d2 - 1)/d2 S/d1, ...: (n - 1)/n S
// in all, in sum(di - 1) start-ups instead of n - 1. The data is cut in 2m parts: part p starts with dimension p mod m,
// the second half runs around the rings the other way, so that all 2m links of a chip are busy at once.
//
// Slices of such a grid that a network joins are a last dimension, which every part goes along behind all others: what
// crosses the network is a chip's share of its slice alone (Google Cloud documentation, "Cloud TPU Multislice
// overview": hierarchical collectives over ICI and DCN), chunk by chunk beside what goes on inside (an assumption: one
// after the other they would take the sum).
#pragma once

#include "sim/collective/schedule.hpp"

namespace orrery::sim {

/// all_reduce, all_gather, reduce_scatter, over the shape's grid of nodes of one GPU.
Outline torus_ring_outline(kernels::CollectiveKind kind, const Shape& shape);
/// Throws Error when the grid's extents and slices do not multiply to the group's ranks.
Schedule torus_ring_schedule(kernels::CollectiveKind kind, const Group& group, double bytes);

/// The hops of `bytes` that every rank sends in all, along every dimension and both ways. Throws Error as the schedule.
std::vector<Leg> torus_ring_hops(const Group& group, double bytes);

}  // namespace orrery::sim
