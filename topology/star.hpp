// Star: all NICs on one switch of as many ports as it takes, as a parameter server and its workers are often drawn.
// Every pair of nodes is one switch apart, and only NICs can be short of bandwidth.
#pragma once

#include "topology/fabric_spec.hpp"

namespace orrery::topology {

/// No keys.
std::shared_ptr<const Fabric> make_star(const FabricSpec& spec, FabricParts parts);

}  // namespace orrery::topology
