// Where a stage's step goes.
#pragma once

#include "sim/costs.hpp"
#include "sim/step.hpp"

namespace orrery::sim {

/// Walks the compute lane of one class from 0 to `step_end`: every second is one kernel's, a communication's, the
/// host's or a wait for other stages, so the members add up to step_end.
Breakdown breakdown(const strategies::StepProgram& step, const Costs& costs, const RankClass& rank, double step_end);
/// The same for a program without calls, whose times need no costs to be told apart: a measured one.
Breakdown breakdown(const strategies::StepProgram& unrolled, const RankClass& rank, double step_end);

}  // namespace orrery::sim
