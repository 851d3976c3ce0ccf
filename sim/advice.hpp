// Which neighbouring plans would be better.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "scenarios/scenario.hpp"
#include "sim/folding.hpp"
#include "sim/kinds.hpp"
#include "sim/step.hpp"
#include "topology/cluster.hpp"

namespace orrery::sim {

/// Advice is simulated, never guessed: each neighbour that is legal is run, and only one that saves at least 1% of the
/// step is named. When the plan does not fit (memory), advice names the largest kind of memory and what each switch
/// would save. None where not all goes to plan. folding: of the scenario's own plan; neighbours with the same traffic
/// share it.
std::vector<std::string> advise(const scenarios::Scenario& scenario, const topology::Cluster& cluster,
                                const Profiles& profiles, const std::shared_ptr<const Folding>& folding,
                                const MemoryUse& memory, double step_time_s);

}  // namespace orrery::sim
