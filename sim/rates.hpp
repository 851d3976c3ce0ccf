// What a step's time means: tokens and operations per second.
#pragma once

#include "scenarios/scenario.hpp"
#include "sim/step.hpp"

namespace orrery::sim {

/// step: what was executed, with calls or without, in step_time_s seconds. peak: FLOP/s, the mean over the GPUs that it
/// ran on; 0: not known.
Rates rates(const scenarios::Scenario& scenario, double peak, const strategies::StepProgram& step, double step_time_s);

}  // namespace orrery::sim
