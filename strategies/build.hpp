// From a plan to the step program of every rank.
#pragma once

#include "strategies/plan.hpp"
#include "strategies/step_program.hpp"

namespace orrery::strategies {

/// The plan must have passed validate(). One role per pipeline stage.
StepProgram build(const Plan& plan);

}  // namespace orrery::strategies
