// The numbers of an imported profile that stand in no table of it.
#pragma once

#include <map>
#include <string>

#include "calibrate/gpu_facts.hpp"
#include "calibrate/profile.hpp"
#include "hardware/gpu.hpp"

namespace orrery::calibrate {

/// What every board's profile has of its datasheet: peaks of the formats that it has and the memory's bandwidth; and
/// what fused attention keeps of its rate beside a dropout.
std::map<std::string, Constant> board_constants(const hardware::Gpu& board);

/// The constants of a profile, each with unit and origin.
std::map<std::string, Constant> constants_of(const GpuFacts& facts);

}  // namespace orrery::calibrate
