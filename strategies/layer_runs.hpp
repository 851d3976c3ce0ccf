// Layers of a stage that one call may stand for.
#pragma once

#include <cstdint>
#include <vector>

#include "strategies/stage.hpp"

namespace orrery::strategies {

/// [chunk][position]: how many layers stand in the run that holds the one at that position.
using LayerRuns = std::vector<std::vector<std::uint32_t>>;

/// Runs of layers with the same blocks, none of which makes the host wait. The first layer of a chunk is a run of its
/// own: what it takes from another stage is gone, and what it hands back is not there yet, when a chunk holds most. So
/// the largest memory of any operation is what it is layer by layer. joined: whether there are runs of several layers
/// at all.
LayerRuns layer_runs(const Stage& stage, bool joined);

}  // namespace orrery::strategies
