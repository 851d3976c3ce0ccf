// What holds of every scenario that was accepted.
#pragma once

#include "scenarios/scenario.hpp"

namespace orrery::fuzz {

/// Written out in full and read again it is the same scenario. Throws Broken.
void require_resolves(const scenarios::Scenario& scenario);

}  // namespace orrery::fuzz
