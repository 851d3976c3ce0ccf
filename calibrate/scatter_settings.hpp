// How measured tables of scattered shapes are interpolated, chosen when a profile is made.
#pragma once

#include "calibrate/profile.hpp"

namespace orrery::calibrate {

/// Chooses the settings of every scattered table that has none, from the times that the written file will hold.
void choose_settings(Profile& profile);

}  // namespace orrery::calibrate
