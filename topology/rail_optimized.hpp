// Rail-optimised fabrics of any size: NIC r of every node goes to a leaf of rail r, so GPUs with the same place in
// their nodes are one switch apart within a unit of leaves.
//
//            spine 0     spine 1   ...          few nodes (all NICs fit on one switch): that switch alone
//           /   |   \   /   |   \                many nodes: a core above, see fat_tree.hpp
//      leaf, rail 0   leaf, rail 1 ...
//       |    |    |    |    |    |
//      n0   n1   n2   n0   n1   n2
//
// An NVL72 rack is one node here: its 18 trays put NIC t of each on rail t, 18 cables a leaf.
#pragma once

#include "topology/design.hpp"
