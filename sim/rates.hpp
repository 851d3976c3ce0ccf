// What a step's time means: tokens and operations per second.
#pragma once

#include "scenarios/scenario.hpp"
#include "sim/prediction.hpp"

namespace orrery::sim {

/// Fills tokens_per_s, the rates of operations, both MFUs, HFU and training_time_s from step_time_s and gpus. step:
/// what was executed, with calls or without. peak: FLOP/s, the mean over the GPUs that it ran on.
void fill_rates(const scenarios::Scenario& scenario, double peak, const strategies::StepProgram& step, Prediction& p);

}  // namespace orrery::sim
