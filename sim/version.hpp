// The version of the program, from CMake.
#pragma once

#include <string>

namespace orrery::sim {

std::string version();

}  // namespace orrery::sim
