// Which of a model's parameters a plan trains: all of them, all but those of frozen layers, or adapters alone.
#pragma once

#include <cstdint>

#include "strategies/plan.hpp"

namespace orrery::strategies {

/// Each counted once, however many ranks hold it; adapters' beside those of the model.
struct TrainedParameters {
    std::uint64_t trained = 0, frozen = 0;
};

/// Throws nothing for a validated plan.
TrainedParameters trained_parameters(const Plan& plan);

}  // namespace orrery::strategies
