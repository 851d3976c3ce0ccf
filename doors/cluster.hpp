// The cluster of a draft, from what the user names and what the launch counts.
#pragma once

#include "doors/draft.hpp"
#include "doors/import.hpp"

namespace orrery::doors {

/// Sets the cluster's preset and nodes and the number of replicas. What is not said anywhere becomes a finding.
void put_cluster(Draft& draft, const Request& request);

}  // namespace orrery::doors
