// A schedule played where nothing but its works takes time.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "strategies/schedule/slot.hpp"

namespace orrery::strategies {

struct IdealRun {
    double seconds = 0;              ///< until the last slot that could begin has ended
    double idle = 0;                 ///< of these, what a stage does not work, the most of any
    std::vector<std::size_t> ended;  ///< by stage: slots that ended, fewer than it has where one waits for ever
};

/// A stage begins a slot when its slot before has ended and what it takes is there: a forward that of the virtual stage
/// before, a backward or input gradient its own forward and the gradient of the virtual stage behind, a weight gradient
/// the input gradient of its stage; and two slots that are a pair when what both take is there. stages[s]: the slots of
/// stage s; chunks and micro-batches must be those of the shape.
IdealRun ideal_run(std::span<const std::vector<Slot>> stages, const PipelineShape& shape, const WorkSeconds& seconds);

}  // namespace orrery::strategies
