// Emulated computation: kernels take their time and compute nothing, so that many ranks can share few cores while their
// communication is real.
#pragma once

#include <vector>

#include "run/bound_program.hpp"

namespace orrery::run {

/// Every kernel of the program becomes a sleep of its seconds, on its lane. A kernel that waits for no other lane
/// begins when the one before it on its lane should have ended: waking up late adds nothing to a row of kernels.
/// seconds: one for each of step.kernels. The device's streams are host threads. Throws Error for another number.
void emulate(BoundProgram& bound, const strategies::StepProgram& step, const strategies::Program& program,
             kernels::Device& device, const std::vector<double>& seconds);

}  // namespace orrery::run
