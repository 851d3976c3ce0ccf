// What a step shares with others, in text.
#pragma once

#include <string>

#include "sim/prediction.hpp"

namespace orrery::report {

/// A table of jobs, and one of the busiest shared links; empty where the step is alone.
std::string sharing_text(const sim::Sharing& shared);

}  // namespace orrery::report
