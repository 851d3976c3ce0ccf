// Three levels in turn: reduce_scatter inside each node, all_reduce of every shard between nodes, all_gather inside.
// Used by PyTorch and Horovod (NCCL_HIERARCHICAL_ALLREDUCE) and, per dimension, by ASTRA-sim; Cho et al., BlueConnect,
// MLSys 2019.
//
// l GPUs a node, k nodes. Inside: 2(l - 1) steps, (l - 1)/l S out and in, twice. Between nodes each GPU reduces its
// shard of S/l around a ring of its peers on the same rail: 2(k - 1) steps, 2(k - 1)/k S leaves the node. The flat ring
// sends 2(n - 1)/n S: a little more, but needs all its 2(n - 1) steps in turn, of which this one spares (l - 1) of l.
#pragma once

#include "sim/collective/schedule.hpp"

namespace orrery::sim {

Outline hierarchical_outline(const Shape& shape);
/// Nodes of equal size; throws Error otherwise.
Schedule hierarchical_schedule(const Group& group, double bytes);

}  // namespace orrery::sim
