// Names of links for reports.
#pragma once

#include <string>

#include "topology/cluster.hpp"

namespace orrery::topology {

/// "leaf 0 to spine 1", "node 4 nic 2 to leaf 3": routers numbered and named as in /cluster/failed; of a link inside a
/// node "node 4 gpu 0 to nvswitch 1". Throws Error for a link that the cluster lacks.
std::string link_name(const Cluster& cluster, LinkId link);

}  // namespace orrery::topology
