// All-to-all: every rank has S bytes, S/n for each.
//
// direct    n - 1 messages a rank, all posted at once (NCCL ncclAlltoAll: grouped sends and receives, p2pSchedule).
// pairwise  n - 1 rounds, in round r with the rank at distance r: the same bytes, never two messages to one receiver,
//           but every round waits for the one before (Thakur et al. 2005).
// pxn       direct, but a message leaves by the GPU of its own node that stands on the receiver's rail, over NVLink
//           (NCCL 2.12, PXN): no traffic between rails, and one message carries what a node has for one receiver.
// hierarchical  first inside each node, by the receiver's place in its node, then between peers of one rail: k - 1
//           messages of l shares each instead of n - l (Whale, Jia et al., USENIX ATC 2022, section on MoE;
//           DeepSpeed-MoE, Rajbhandari et al. 2022; Tutel's 2DH, Hwang et al. 2022).
// once_a_node  each token once to the GPU on its sender's rail of every node that has experts of it, and from there to
//           those GPUs over NVLink, while others arrive: Shape::once of what the members of other nodes would get of
//           one rank each (DeepEP, deepseek-ai/DeepEP, csrc/kernels/internode.cu; HybridEP).
//
// In all of the others a node of l members sends l (n - l)/n S to the others.
#pragma once

#include "sim/collective/schedule.hpp"

namespace orrery::sim {

Outline direct_outline(kernels::CollectiveKind kind, const Shape& shape);  ///< all_to_all, all_gather, reduce_scatter
Schedule direct_schedule(kernels::CollectiveKind kind, const Group& group, double bytes);

Outline pairwise_outline(const Shape& shape);
Schedule pairwise_schedule(const Group& group, double bytes);  ///< O(ranks^2)

Outline pxn_outline(const Shape& shape);
Schedule pxn_schedule(const Group& group, double bytes);

Outline hierarchical_all_to_all_outline(const Shape& shape);
/// Nodes of equal size; throws Error otherwise. O(nodes^2 x rails).
Schedule hierarchical_all_to_all_schedule(const Group& group, double bytes);

Outline once_a_node_outline(const Shape& shape);
Schedule once_a_node_schedule(const Group& group, double bytes);

}  // namespace orrery::sim
