// What is promised of a measurement that a trace gave.
#pragma once

#include "doors/trace/measurement.hpp"

namespace orrery::fuzz {

/// Its times add up, a profile takes its products, and a prediction can be held against it. Throws Broken.
void require_usable(const doors::trace::Measurement& measured);

}  // namespace orrery::fuzz
