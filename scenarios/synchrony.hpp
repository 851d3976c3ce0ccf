// What replicas that keep step otherwise than in every collective go with.
#pragma once

#include "scenarios/scenario.hpp"
#include "topology/cluster.hpp"

namespace orrery::scenarios {

/// Of a scenario that is read but for that. Throws Error without a file.
void check_synchrony(const Scenario& scenario, const topology::Cluster& cluster);

/// Nodes that its ranks run on, ascending.
std::vector<std::uint32_t> nodes_of(const strategies::Plan& plan, const topology::Cluster& cluster);

}  // namespace orrery::scenarios
