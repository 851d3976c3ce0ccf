// Ranks that run one program on one kind of GPU, counted.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/kinds.hpp"
#include "strategies/rank_placement.hpp"
#include "strategies/step_program.hpp"

namespace orrery::sim {

struct Population {
    std::uint32_t role = 0, kind = 0;  ///< of the step's programs, and of the cluster's kinds
    std::uint32_t first = 0;           ///< rank
    std::uint32_t ranks = 0;           ///< how many there are
};

/// All that a step has, in the order of their first ranks.
std::vector<Population> populations(const strategies::StepProgram& step, const strategies::RankPlacement& placement,
                                    const Kinds& kinds);

}  // namespace orrery::sim
