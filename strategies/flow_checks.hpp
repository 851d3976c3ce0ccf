// Checks of the data flow inside layers: what `verify` says of a program's operands.
#pragma once

#include <string>
#include <vector>

#include "strategies/step_program.hpp"

namespace orrery::strategies {

/// One line each: operands whose number, format or extent is not what their kernel's contract or collective says,
/// tensors that are read before anything wrote them, parameters whose gradient is not formed exactly once, layers that
/// do not leave their output or the gradient of their input. Layers that cannot be executed (LayerFlow::complete) are
/// passed over.
std::vector<std::string> flow_problems(const StepProgram& step);

}  // namespace orrery::strategies
