// What holds of every fabric that was read.
#pragma once

#include "topology/fabric.hpp"

namespace orrery::fuzz {

/// Between its first ports there are routes whose links exist, have a rate and join. Throws Broken.
void require_routes(const topology::Fabric& fabric);

}  // namespace orrery::fuzz
