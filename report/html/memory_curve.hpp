// Device memory over a step for the page.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "sim/prediction.hpp"

namespace orrery::report {

/// {stage, seconds: [...], kinds: [{name, bytes: [...]}]} of the fullest stage: what is there from each moment on.
/// Needs Prediction::program and Prediction::trace; null without them.
nlohmann::ordered_json memory_curve(const sim::Prediction& prediction);

}  // namespace orrery::report
