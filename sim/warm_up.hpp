// A training in two stages: the warm-up of a strategy that compresses what data ranks exchange, and what follows it,
// which is what a scenario's step is.
#pragma once

#include <optional>

#include "scenarios/scenario.hpp"
#include "sim/prediction.hpp"
#include "sim/session.hpp"
#include "strategies/step_program.hpp"

namespace orrery::sim {

/// Bytes that one GPU sends in the mean to exchange gradients, what stands in for them and weights that were updated,
/// in one step.
double exchanged_bytes(const strategies::StepProgram& step);

/// The other stage, whose step is simulated; nothing where the plan does not compress. step: of the scenario's plan, in
/// `step_time_s` seconds.
std::optional<WarmUp> warm_up(const scenarios::Scenario& scenario, Site& site, const strategies::StepProgram& step,
                              double step_time_s);

}  // namespace orrery::sim
