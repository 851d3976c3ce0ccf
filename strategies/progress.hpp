// Running a step program without a clock: does everything that is issued end?
#pragma once

#include <string>
#include <vector>

#include "strategies/step_program.hpp"

namespace orrery::strategies {

/// Lets one rank of every role, or where a stage has several every rank, run as far as it can, sends meeting receives
/// and collectives their group; what is left over is a deadlock or a mismatch. One line for each lane that is stuck,
/// and for each pair that met with different sizes.
std::vector<std::string> stuck_operations(const StepProgram& step);

}  // namespace orrery::strategies
