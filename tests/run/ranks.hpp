// All ranks of a plan as threads of this process.
#pragma once

#include <vector>

#include "run/executor.hpp"

namespace orrery::run {

struct Trained {
    std::vector<double> losses;  ///< mean over the data ranks, by step
    std::vector<RankMemory> memory;
};

/// Throws what the first failing rank threw.
Trained train(const strategies::Plan& plan, const RunSettings& settings, std::uint32_t steps);

}  // namespace orrery::run
