// A real run in the terms of a simulated one, so that every report shows both alike.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "report/measured_step.hpp"
#include "run/measured.hpp"
#include "scenarios/scenario.hpp"

namespace orrery::report {

/// A transfer begins when all its parties are there, as in a simulation; what a rank waited before that is a wait.
/// Throws Error when the run is not of this scenario's plan.
MeasuredStep measured_step(const scenarios::Scenario& scenario, const run::MeasuredRun& measured,
                           Clock clock = Clock::wall);

/// "measured" of prediction.schema.json.
nlohmann::ordered_json measured_facts(const run::MeasuredRun& measured);

/// Loss and time of the steps, spread, memory against the prediction's, clocks, overhead: the lines below the report.
std::string measured_lines(const scenarios::Scenario& scenario, const run::MeasuredRun& measured);

}  // namespace orrery::report
