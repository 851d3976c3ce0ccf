// Which neighbouring plans would be better.
#pragma once

#include <string>
#include <vector>

#include "scenarios/scenario.hpp"
#include "sim/memory_use.hpp"
#include "sim/session.hpp"
#include "sim/step.hpp"

namespace orrery::sim {

/// Advice is simulated, never guessed: each neighbour that is legal is run, and only one that saves at least 1% of the
/// step is named. When the plan does not fit (memory), advice names the largest kind of memory and what each switch
/// would save. None where not all goes to plan. folding and step: of the scenario's own plan.
std::vector<std::string> advise(const scenarios::Scenario& scenario, Site& site, const Folding& folding,
                                const Step& step, const MemoryLimits& limits);

}  // namespace orrery::sim
