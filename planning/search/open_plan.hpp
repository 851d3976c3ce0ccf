// What a search does to a scenario's own plan before its axes set keys of it.
#pragma once

#include <string_view>
#include <vector>

#include "scenarios/override.hpp"

namespace orrery::planning {

/// Changes that leave a plan that is legal for any model, whatever the scenario says of its own.
std::vector<scenarios::Override> open_plan();

/// Whether open_plan() changes this key, so that a value given beside it would be lost.
bool opens(std::string_view key);

}  // namespace orrery::planning
