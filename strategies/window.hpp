// Several steps as one program.
#pragma once

#include <cstdint>

#include "strategies/step_program.hpp"

namespace orrery::strategies {

/// What happens between two steps of a window. joined: the host waits for all that its rank has begun, as a training
/// loop does that reads the loss. open: it goes on, and the next step begins behind the last operation of the compute
/// lane.
enum class StepsMeet : std::uint8_t { joined, open };

/// The same step so many times, one after the other: StepProgram::steps says how many. Buffers that live for the step
/// are the same in all of them, others each step's own. `step` is one step; steps >= 1.
StepProgram window(const StepProgram& step, std::uint32_t steps, StepsMeet meet);

}  // namespace orrery::strategies
