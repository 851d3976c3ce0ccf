// Plain Ethernet (RoCE) clusters: all NICs of a node go to one top-of-rack switch, racks meet in spines.
//
//      spine 0   spine 1  ...            few nodes: one switch alone
//       |    \  /   |                    leaf down : up = oversubscription
//     rack 0     rack 1
//     /  |  \    /  |  \                 any kind of GPU: its usual node
//    n0  n1  n2 n3  n4  n5
#pragma once

#include <optional>

#include "topology/design.hpp"

namespace orrery::topology {

/// Of Amazon's instances with such GPUs: p3dn.24xlarge, p4d.24xlarge, p5.48xlarge (32 NICs of 100 Gb/s; p5en has 16 of
/// 200), p6-b200.48xlarge, and p6e-gb200's racks, whose 18 trays have four of 400 each, taken as one: more do not fit
/// on the switch that a node goes to (AWS documentation, instance types with Elastic Fabric Adapter).
std::optional<NodeNics> amazon_nics(Socket socket);

}  // namespace orrery::topology
