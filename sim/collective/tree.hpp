// Double binary trees. Sanders, Speck and Traff, Two-tree algorithms for full bandwidth broadcast, reduction and scan,
// Parallel Computing 35 (2009); NCCL src/graph/trees.cc and src/device/all_reduce.h (runTreeSplit).
//
// Two binary trees over the nodes, each with half of the data, so that a node which is inside one tree is a leaf of the
// other. all_reduce reduces to both roots and broadcasts back. A node inside a tree sends S/2 up and S/2 down to each
// of two children; as a leaf it sends S/2 up: 2S in all, as much as it receives. Two nodes are each root of one tree
// and child of the other: S. The start-ups grow with log2 nodes: up and down. Inside a node the data runs along a chain
// of its GPUs. With `rails` members a node, as many pairs of trees run side by side.
//
// A tree is a pipeline: chunk by chunk. Until its first chunk has come up and down again the links are idle, which a
// fluid model without this fill forgets (4 to 15%). pricing.hpp adds it from inner_depth and outer_depth.
#pragma once

#include "sim/collective/schedule.hpp"

namespace orrery::sim {

/// Child and parent of one tree over nodes 0 .. nodes-1; the root is its own parent. The first tree; the second is its
/// mirror image (even count) or shifted by one (odd count), as NCCL's ncclGetDtree.
std::vector<std::uint32_t> binary_tree(std::uint32_t nodes);
std::vector<std::uint32_t> second_tree(std::uint32_t nodes);

Outline tree_outline(const Shape& shape);                  ///< of all_reduce
Schedule tree_schedule(const Group& group, double bytes);  ///< of all_reduce

/// NVLSTree (NCCL 2.18, Hopper with NVSwitch): inside a node the switch reduces and multicasts (NVLS), between nodes
/// the same two trees, each GPU for its own share of the data.
Outline in_switch_tree_outline(const Shape& shape);
Schedule in_switch_tree_schedule(const Group& group, double bytes);

}  // namespace orrery::sim
