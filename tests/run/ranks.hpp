// All ranks of a plan as threads of this process.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "run/executor.hpp"

namespace orrery::run {

struct Trained {
    std::vector<double> losses;  ///< mean over the data ranks, by step; empty where none has one
    std::vector<RankMemory> memory;
    /// Of the last step, as the optimizer saw them: parameter -> element of the whole tensor -> gradient.
    std::map<std::string, std::map<std::uint64_t, double>> gradients;
};

/// Throws what the first failing rank threw.
Trained train(const strategies::Plan& plan, const RunSettings& settings, std::uint32_t steps);

}  // namespace orrery::run
