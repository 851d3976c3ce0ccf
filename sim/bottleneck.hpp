// What a step spends its time on beside what it is for.
#pragma once

#include <string>

#include "scenarios/scenario.hpp"
#include "sim/prediction.hpp"

namespace orrery::sim {

/// The largest part of the step beside its matrix products, which come first where they take more: "attention 10%,
/// after GEMM 72%"; and before it what does not go to plan, where that takes as much as is worth naming: "straggler
/// rank 70 x 1.2 12%, then ...". Shares are of the step, means over stages. Needs the prediction's times and stages.
std::string bottleneck(const scenarios::Scenario& scenario, const Prediction& prediction);

}  // namespace orrery::sim
