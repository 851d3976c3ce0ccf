// The cluster of a draft, from what the user names and what the launch counts.
#pragma once

#include "doors/draft.hpp"
#include "doors/import.hpp"

namespace orrery::doors {

/// Sets the cluster's preset and nodes and the number of replicas. What is not said anywhere becomes a finding.
void put_cluster(Draft& draft, const Request& request);

/// Whether what the user names has NVIDIA's GPUs; a cluster that cannot be built, or none, counts as one.
bool is_nvidias(const Request& request);

}  // namespace orrery::doors
