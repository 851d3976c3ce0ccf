// The numbers of an imported profile that stand in no table of it.
#pragma once

#include <map>
#include <string>

#include "calibrate/gpu_facts.hpp"
#include "calibrate/profile.hpp"

namespace orrery::calibrate {

/// The constants of a profile, each with unit and origin.
std::map<std::string, Constant> constants_of(const GpuFacts& facts);

}  // namespace orrery::calibrate
