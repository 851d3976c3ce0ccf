// The longest path through the unfolded program without contention: the independent check of the replay.
#pragma once

#include <vector>

#include "sim/kind_costs.hpp"
#include "sim/network.hpp"
#include "sim/step.hpp"

namespace orrery::sim {

/// [rank][op] -> span, every rank for itself, every transfer as if it were alone on the wire.
std::vector<std::vector<Span>> longest_path(const strategies::StepProgram& step, const KindCosts& costs,
                                            const Network& network, const strategies::RankPlacement& placement = {});

}  // namespace orrery::sim
