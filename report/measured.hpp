// A real run in the terms of a simulated one, so that every report shows both alike.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "run/measured.hpp"
#include "scenarios/scenario.hpp"
#include "sim/prediction.hpp"

namespace orrery::report {

/// wall: as it was, with whatever else the machine did. undisturbed: the device time of every operation (CPU time on a
/// CPU) along the program's longest path, as if no other process took the cores; on a GPU the two are nearly equal.
enum class Clock : std::uint8_t { wall, undisturbed };

/// Medians over the measured steps, with one class for each rank and the unrolled program. A transfer begins when all
/// its parties are there, as in a simulation; what a rank waited before that is a wait. Memory is what the ranks hold:
/// parameters, their gradients and optimizer states, and one peak of activations and scratch. Throws Error when the run
/// is not of this scenario's plan.
sim::Prediction measured_step(const scenarios::Scenario& scenario, const run::MeasuredRun& measured,
                              Clock clock = Clock::wall);

/// "measured" of prediction.schema.json.
nlohmann::ordered_json measured_facts(const run::MeasuredRun& measured);

/// Loss and time of the steps, spread, memory against the prediction's, clocks, overhead: the lines below the report.
std::string measured_lines(const scenarios::Scenario& scenario, const run::MeasuredRun& measured);

}  // namespace orrery::report
