// The HTML report of a profile: what was measured, what is derived from it, and how well it predicts.
#pragma once

#include <string>

#include "calibrate/predictor.hpp"

namespace orrery::report {

/// command: that makes the page. Throws Error where the program was built without it.
std::string calibration_page(const calibrate::Predictor& predictor, const std::string& command);

}  // namespace orrery::report
