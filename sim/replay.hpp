// The step program replayed on an engine: every class of ranks through its program, with contended transfers.
#pragma once

#include <vector>

#include "sim/costs.hpp"
#include "sim/engine.hpp"
#include "sim/folding.hpp"

namespace orrery::sim {

struct Replayed {
    double end = 0;                  ///< seconds until the last operation of any rank has ended
    std::vector<RankClass> classes;  ///< with spans; a transfer's span begins when all its parties are there
};

/// Times follow from the program alone (step_program.hpp): computing operations are timed as soon as what they wait for
/// is known; transfers between nodes are handed to the engine at the moment their last party arrives. Throws
/// std::logic_error when an operation never ends, which verify() would have said.
Replayed replay(const strategies::StepProgram& step, const Costs& costs, const Network& network, const Folding& folding,
                Engine& engine);

}  // namespace orrery::sim
