// The HTML report of one predicted step.
#pragma once

#include <string>

#include "calibrate/profile_store.hpp"
#include "scenarios/scenario.hpp"
#include "sim/prediction.hpp"

namespace orrery::report {

/// Needs Prediction::program and Prediction::trace. command: that makes this page; profiles: those of the prediction.
/// Throws Error where the program was built without the page.
std::string step_page(const scenarios::Scenario& scenario, const sim::Prediction& prediction,
                      calibrate::ProfileStore& profiles, const std::string& command);

}  // namespace orrery::report
