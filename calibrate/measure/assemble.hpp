// From a measurement log to a profile.
#pragma once

#include <string>

#include "calibrate/measure/log.hpp"
#include "calibrate/profile.hpp"

namespace orrery::calibrate {

/// Tables, constants with their origins, noise and held-out errors. What a GPU's datasheet says is taken from
/// gpu_facts when the device is one of them; everything else is measured. Throws Error when nothing was measured.
Profile assemble(const LogContent& log, const std::string& name, double load_after);

}  // namespace orrery::calibrate
