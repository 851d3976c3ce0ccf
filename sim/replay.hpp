// The step program replayed on an engine: every class of ranks through its program, with contended transfers.
#pragma once

#include <vector>

#include "sim/engine.hpp"
#include "sim/folding.hpp"
#include "sim/kind_costs.hpp"
#include "sim/perturbed.hpp"

namespace orrery::sim {

struct Replayed {
    double end = 0;                  ///< seconds until the last operation of any rank has ended
    std::vector<RankClass> classes;  ///< with the time of their last end; spans of those that were recorded
};

/// Times follow from the program alone (step_program.hpp): computing operations are timed as soon as what they wait for
/// is known; transfers between nodes are handed to the engine at the moment their last party arrives. A transfer's span
/// begins when all its parties are there. perturbed (null: nothing is): its step must be unrolled if it slows kernels,
/// and its marks must have gone into the folding. Spans are kept of the classes in `record` (numbers, ascending).
/// Throws std::logic_error when an operation never ends, which verify() would have said.
Replayed replay(const strategies::StepProgram& step, const KindCosts& costs, const Network& network,
                const Folding& folding, Engine& engine, const std::vector<std::uint32_t>& record,
                const Perturbed* perturbed = nullptr);
/// Spans of all classes.
Replayed replay(const strategies::StepProgram& step, const KindCosts& costs, const Network& network,
                const Folding& folding, Engine& engine);

}  // namespace orrery::sim
