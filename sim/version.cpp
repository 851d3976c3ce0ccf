#include "sim/version.hpp"

namespace orrery::sim {

std::string version() { return ORRERY_VERSION; }

}  // namespace orrery::sim
