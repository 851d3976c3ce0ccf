// From a predicted step to a window of steps whose replicas keep step as the scenario says (synchrony/).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "scenarios/scenario.hpp"
#include "sim/session.hpp"
#include "sim/step.hpp"
#include "synchrony/window.hpp"

namespace orrery::sim {

/// The workers of the scenario's window: replicas, whose step is that of one by itself, without the optimizer where
/// servers have it; the links of their nodes' NICs, and of their nodes inside; what they push and pull. The fabric
/// between NICs is taken for non-blocking. A rank that is slow slows its replica's whole step.
synchrony::Job replica_job(const scenarios::Scenario& scenario, Site& site);

/// Null where the scenario asks for none. Throws Error where there is one replica.
std::shared_ptr<const synchrony::Outcome> replica_window(const scenarios::Scenario& scenario, Site& site);

/// What such a window needs of memory and the step leaves not. null: there is no window.
std::vector<std::string> window_doubts(const synchrony::Outcome* window, const MemoryUse& memory);

}  // namespace orrery::sim
