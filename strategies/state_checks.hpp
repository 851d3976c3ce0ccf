// Checks of what operations take of their stage's parameters.
#pragma once

#include <string>
#include <vector>

#include "strategies/step_program.hpp"

namespace orrery::strategies {

/// Operands that do not fit the contracts of their kernels in number, format or extent, collectives and messages of
/// other sizes than what they move, numbers read before anything wrote them, and parameters that a stage's program
/// never updates; one line each. Of well-formed programs.
std::vector<std::string> state_problems(const StepProgram& step);

}  // namespace orrery::strategies
