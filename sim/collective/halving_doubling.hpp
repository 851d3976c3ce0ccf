// Recursive halving and doubling. Rabenseifner, Optimization of collective reduction operations, ICCS 2004; Thakur,
// Rabenseifner and Gropp, IJHPCA 19 (2005).
//
// reduce_scatter in log2 n steps: with the neighbour at distance 1, 2, 4, ... a rank exchanges 1/2, 1/4, 1/8, ... of
// the data (near partners first, so that the large halves stay inside nodes); all_gather is the way back. all_reduce
// does both: 2 log2 n steps, 2(n - 1)/n S. When n is no power of two, the ranks beyond the largest one fold their data
// into a partner first and get the result last: S more in two steps more.
#pragma once

#include "sim/collective/schedule.hpp"

namespace orrery::sim {

/// all_reduce, all_gather, reduce_scatter. node_bytes holds for nodes of equal size whose members are a power of two.
Outline halving_doubling_outline(kernels::CollectiveKind kind, const Shape& shape);
/// all_gather and reduce_scatter need a power of two; throws Error otherwise.
Schedule halving_doubling_schedule(kernels::CollectiveKind kind, const Group& group, double bytes);

}  // namespace orrery::sim
