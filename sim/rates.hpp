// What a step's time means: tokens and operations per second.
#pragma once

#include "scenarios/scenario.hpp"
#include "sim/prediction.hpp"
#include "topology/cluster.hpp"

namespace orrery::sim {

/// Fills tokens_per_s, the rates of operations, MFU, HFU and training_time_s from step_time_s and gpus. step: what was
/// executed, with calls or without.
void fill_rates(const scenarios::Scenario& scenario, const topology::Gpu& gpu, const strategies::StepProgram& step,
                Prediction& p);

}  // namespace orrery::sim
