// What a step shares with other jobs and with background traffic, for reports.
#pragma once

#include "scenarios/scenario.hpp"
#include "sim/prediction.hpp"
#include "sim/run_step.hpp"

namespace orrery::sim {

/// Fills jobs and shared_links of a prediction whose step times are known; nothing where the step is alone. Runs each
/// other job by itself on the engine.
void describe_sharing(const scenarios::Scenario& scenario, const topology::Cluster& cluster,
                      const Profiles& profiles, const RanStep& ran, EngineKind engine, Prediction& p);

}  // namespace orrery::sim
