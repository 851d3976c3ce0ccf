// Operations between the last backward and the next step: gradients, their norm, the optimizer.
#pragma once

#include "run/bound_program.hpp"

namespace orrery::run {

/// An operation of the stage's program, outside the layers.
struct StepSite {
    strategies::Task task = strategies::Task::none;
    std::uint32_t bucket = 0;
    strategies::Lane lane = strategies::Lane::compute;
    const strategies::Collective* collective = nullptr;
    const void* received = nullptr;  ///< device memory: the other stage's gradient of the word embedding
    float* sum = nullptr;            ///< device memory: the gradient norm's number
};

/// Throws Error for a task that cannot be executed.
Action bind_gradients(Bind& bind, const StepSite& site, const StepNumbers& numbers);

}  // namespace orrery::run
