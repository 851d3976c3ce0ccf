// Layers divided among pipeline stages of equally many ranks, so that the slowest stage takes least.
//
// A 1F1B step of m micro-batches takes (m - 1) times the slowest stage and once all of them: of all divisions the one
// whose slowest stage is fastest is best. How long layers take on which stage is known (StageTables), with the
// embedding on the first stage and the loss on the last; so stages on slower GPUs get fewer layers (Whale, Jia et al.,
// USENIX ATC 2022, section 3.3, balances stages by their GPUs' peak FLOP/s; here by kernels' times).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "planning/partition/stage_tables.hpp"

namespace orrery::planning {

/// Seconds of a micro-batch, forward and backward, on each stage, all its chunks together. The plan must have passed
/// check_stages().
std::vector<double> stage_seconds(const strategies::Plan& plan, const StageTables& tables);

/// Layers of each chunk, as Strategy::pipeline_layers says them: in the order in which a micro-batch meets them. Of one
/// chunk a stage the best division (dynamic programming over stages and layers); of several, each next layer goes to
/// the stage that is done with it first, as if all layers took the same, and a stage's are spread over its chunks.
/// Throws Error (pointer under "/strategy") for one stage, for schedules whose chunks turn around or oppose each other,
/// where only some layers run again, and where there are fewer layers than chunks between the ends.
std::vector<std::uint32_t> balanced_layers(const strategies::Plan& plan, const StageTables& tables);

}  // namespace orrery::planning
