// A small scenario and a prediction for it, written by hand: what the reports under test show.
#pragma once

#include "scenarios/scenario.hpp"
#include "sim/prediction.hpp"

namespace orrery::report {

/// GPT-22B on 16 DGX A100: tensor 8, pipeline `stages`, data 16 / stages. Stage 0 is the fullest and the last bounds
/// the step.
scenarios::Scenario sample_scenario(std::uint32_t stages = 2);

/// Two micro-batches of a forward and a backward block per stage; times are round numbers that add up to one second
/// a stage. Comes with program and trace, one class a stage.
sim::Prediction sample_prediction(std::uint32_t stages = 2);

}  // namespace orrery::report
