// Operations between the last backward and the next step: gradients, their norm, the optimizer.
#pragma once

#include "run/bound_program.hpp"

namespace orrery::run {

/// An operation of the program itself, outside the layers.
struct StepSite {
    std::string_view name;
    strategies::Phase phase = strategies::Phase::forward;
    strategies::Lane lane = strategies::Lane::compute;
    const strategies::Collective* collective = nullptr;
    std::uint32_t bucket = 0;    ///< that it reads, or gathers
    bool experts = false;        ///< of a gathering of all weights: it is that of experts
    Tensor* received = nullptr;  ///< of the embedding's exchange
    float* sum = nullptr;        ///< device memory: the gradient norm's number
};

/// Throws Error for an operation that it does not know.
Action bind_gradients(Bind& bind, const StepSite& site, const StepNumbers& numbers);

}  // namespace orrery::run
