// Equal scenarios, whatever rows they come from, are predicted once.
#pragma once

#include <string>

#include "scenarios/scenario.hpp"

namespace orrery::validate {

/// Text that is equal for two scenarios when all that a prediction depends on is: everything but the name.
std::string scenario_key(const scenarios::Scenario& scenario);

}  // namespace orrery::validate
