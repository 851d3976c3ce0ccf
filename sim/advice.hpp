// What bounds a step, and which neighbouring plans would be better.
#pragma once

#include "scenarios/scenario.hpp"
#include "sim/prediction.hpp"
#include "sim/session.hpp"

namespace orrery::sim {

/// Fills Prediction::bottleneck and Prediction::advice. Advice is simulated, never guessed: each neighbour that is
/// legal is run, and only one that saves at least 1% of the step is named. When the plan does not fit, advice names the
/// largest kind of memory and what each switch would save. folding: of the scenario's own plan.
void advise(const scenarios::Scenario& scenario, Site& site, const Folding& folding, Prediction& prediction);

}  // namespace orrery::sim
