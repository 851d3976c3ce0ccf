// The HTML report of a cluster: its structure drawn, its parts counted, what it can carry.
#pragma once

#include <string>

#include "topology/cluster.hpp"
#include "topology/survey.hpp"

namespace orrery::report {

/// command: that makes the page. Throws Error where the program was built without it.
std::string topology_page(const topology::Cluster& cluster, const topology::Survey& survey, const std::string& command);

}  // namespace orrery::report
