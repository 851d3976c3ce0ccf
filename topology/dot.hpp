// A cluster in Graphviz' language: nodes and switches as vertices, cables as edges.
#pragma once

#include <string>

#include "topology/cluster.hpp"

namespace orrery::topology {

/// One vertex a node (chip) and switch, ranked by layer, one edge for the cables between two of them with their number
/// and rate; failed ones dashed. Throws Error for more than 20,000 links: no drawing can be read then.
std::string to_dot(const Cluster& cluster);

}  // namespace orrery::topology
