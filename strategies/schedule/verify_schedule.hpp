// Whether a schedule is one.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "strategies/schedule/schedule.hpp"

namespace orrery::strategies {

/// What is wrong with a schedule, empty when it is sound: every (chunk, micro-batch) goes forward once on every stage
/// and then gets its gradients once, in one backward or as input and then weight gradient; one update follows all of
/// them; no output stays behind the last exchange; and no stage waits for ever. The last line is a picture: a row for
/// each stage, its slots from left to right (F forward, B backward, I and W input and weight gradient, U update, each
/// with its micro-batch and, of several, its chunk), what is wrong in brackets. stages[s]: the slots of stage s.
std::vector<std::string> verify_schedule(std::span<const std::vector<Slot>> stages, const PipelineShape& shape);

/// The slots of all stages.
std::vector<std::vector<Slot>> all_stages(const Schedule& schedule, const PipelineShape& shape);

}  // namespace orrery::strategies
