// What a step spends its time on beside what it is for.
#pragma once

#include <string>
#include <vector>

#include "scenarios/scenario.hpp"
#include "sim/step.hpp"

namespace orrery::sim {

/// The largest part of the step beside its matrix products, which come first where they take more: "attention 10%,
/// after GEMM 72%"; and before it what does not go to plan, where that takes as much as is worth naming: "straggler
/// rank 70 x 1.2 12%, then ...". Shares are of the step, means over stages (at least one). planned_step_time_s: 0 where
/// all goes to plan.
std::string bottleneck(const scenarios::Scenario& scenario, const std::vector<Breakdown>& stages, double step_time_s,
                       double planned_step_time_s);

}  // namespace orrery::sim
