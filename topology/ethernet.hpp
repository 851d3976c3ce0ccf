// Plain Ethernet (RoCE) clusters: all NICs of a node go to one top-of-rack switch, racks meet in spines.
//
//      spine 0   spine 1  ...            few nodes: one switch alone
//       |    \  /   |                    leaf down : up = oversubscription
//     rack 0     rack 1
//     /  |  \    /  |  \                 any kind of GPU: its usual node
//    n0  n1  n2 n3  n4  n5
#pragma once

#include "topology/design.hpp"
