// Equal clusters by equal texts: what is kept for one serves the others.
#pragma once

#include <string>

#include "topology/catalog.hpp"

namespace orrery::topology {

/// Of everything that a scenario says of its cluster: equal for equal ones alone, also with something behind it, and
/// for no eyes.
std::string cluster_key(const ClusterSpec& spec);

}  // namespace orrery::topology
