// What real execution can run so far.
#pragma once

#include "kernels/device.hpp"
#include "run/parameters.hpp"
#include "strategies/step_program.hpp"

namespace orrery::run {

/// Throws Error (pointer of the scenario's key, the value, the remedy) for a plan whose program would run but which
/// cannot be executed. The plan has passed validate().
void require_executable(const strategies::Plan& plan);

/// Throws Error for a program with a kernel that the device does not run, and on a GPU for operands of it that would
/// not begin at multiples of 16 bytes.
void require_runs_on(const kernels::Device& device, const strategies::Plan& plan, const strategies::StepProgram& step);
/// The same of this rank's parameters.
void require_runs_on(const kernels::Device& device, const Parameters& parameters);

}  // namespace orrery::run
