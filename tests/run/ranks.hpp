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

/// A GPT of some layers, small enough to run in a moment, in fp32: 8 tokens a sequence, micro-batches of 2.
strategies::Plan small_plan(std::uint32_t layers, std::uint32_t global_batch);

/// Throws what the first failing rank threw.
Trained train(const strategies::Plan& plan, const RunSettings& settings, std::uint32_t steps);

}  // namespace orrery::run
