// The constants of a measured profile, each with how it came about.
#pragma once

#include <map>
#include <string>

#include "calibrate/measure/log.hpp"
#include "calibrate/profile.hpp"

namespace orrery::calibrate {

/// All that a profile requires. A GPU known to gpu_facts keeps its datasheet's peaks; other devices' peaks are the best
/// rates measured.
std::map<std::string, Constant> measured_constants(const LogContent& log);

}  // namespace orrery::calibrate
