// Parameter servers. Li et al., Scaling distributed machine learning with the parameter server, OSDI 2014.
//
// The parameters are spread evenly over servers that sit beside the workers, one on the first GPU of each node. push:
// every worker sends every server its share of the gradients; pull: every server sends every worker its share of the
// parameters. With k servers and n workers, l a node: (n - l) S/k comes into each server's node by a push, as much
// leaves it by a pull. With one server (k = 1) that is the well-known (n - 1) S at its NIC.
#pragma once

#include "sim/collective/schedule.hpp"

namespace orrery::sim {

Schedule push_schedule(const Group& group, double bytes);
Schedule pull_schedule(const Group& group, double bytes);

/// all_reduce: a push, then a pull.
Outline parameter_server_outline(const Shape& shape);
Schedule parameter_server_schedule(const Group& group, double bytes);

}  // namespace orrery::sim
