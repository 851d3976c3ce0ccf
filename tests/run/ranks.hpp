// All ranks of a plan as threads of this process.
#pragma once

#include <boost/container/flat_map.hpp>
#include <map>
#include <string>
#include <vector>

#include "run/executor.hpp"

namespace orrery::run {

/// Parameter -> element of the whole tensor -> value.
using Values = std::map<std::string, boost::container::flat_map<std::uint64_t, double>>;

/// Of parameters of many elements one of so many is looked at.
inline std::uint64_t one_of(std::uint64_t elements) { return elements / 10000 + 1; }

struct Trained {
    std::vector<double> losses;  ///< mean over the data ranks, by step; empty where none has one
    std::vector<RankMemory> memory;
    /// Of the last step, as the optimizer saw them, and the masters that it left.
    Values gradients, masters;
    std::vector<Values> weights;             ///< that products read, by rank
    std::vector<std::vector<bool>> skipped;  ///< by rank and step
    std::vector<double> scales;              ///< of the loss, by step
};

/// A GPT of some layers, small enough to run in a moment, in fp32: 8 tokens a sequence, micro-batches of 2.
strategies::Plan small_plan(std::uint32_t layers, std::uint32_t global_batch);

/// The plan's program; run_program() throws what the first failing rank threw.
strategies::StepProgram program_of(const strategies::Plan& plan);
Trained run_program(const strategies::Plan& plan, const strategies::StepProgram& program, const RunSettings& settings,
                    std::uint32_t steps);
/// Both.
Trained train(const strategies::Plan& plan, const RunSettings& settings, std::uint32_t steps);

}  // namespace orrery::run
