// What a step shares with other jobs and with background traffic, for reports.
#pragma once

#include "scenarios/scenario.hpp"
#include "sim/prediction.hpp"
#include "sim/run_step.hpp"

namespace orrery::sim {

/// Nothing where the step is alone. Runs each other job by itself on the engine. planned_step_time_s: of the
/// scenario's own job by itself, as planned.
Sharing sharing(const scenarios::Scenario& scenario, const topology::Cluster& cluster, const Profiles& profiles,
                const RanStep& ran, EngineKind engine, double planned_step_time_s);

}  // namespace orrery::sim
