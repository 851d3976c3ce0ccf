// TPU pods: chips joined by their own links in a torus (torus.hpp has the picture). A chip is a node of one, so that
// every transfer crosses links that others use too.
#pragma once

#include <cstdint>
#include <string_view>

#include "topology/design.hpp"

namespace orrery::topology {

/// Of the torus that chips of the name form ("TPU-v5e": 2); 0 for others.
std::uint32_t torus_dimensions(std::string_view chip);

}  // namespace orrery::topology
