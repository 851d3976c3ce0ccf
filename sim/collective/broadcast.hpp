// Broadcast from the first GPU of the group. NCCL src/device/broadcast.h (a ring cut open at the root); binary tree:
// Sanders et al. 2009, with which a node inside the tree sends twice.
//
// chain  every byte passes every rank once: the root and every node but the last send S; n - 1 start-ups.
// tree   S to each of two children: 2S leave a node (S when there are two nodes); log2 nodes start-ups.
#pragma once

#include "sim/collective/schedule.hpp"

namespace orrery::sim {

Schedule chain_broadcast_schedule(const Group& group, double bytes);

Outline tree_broadcast_outline(const Shape& shape);
Schedule tree_broadcast_schedule(const Group& group, double bytes);

}  // namespace orrery::sim
