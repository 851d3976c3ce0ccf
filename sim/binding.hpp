// Which links a folding counts.
#pragma once

#include <cstdint>

#include "topology/cluster.hpp"

namespace orrery::sim {

/// nics: all others are supposed never to bind, which is to be seen (link_loads.hpp).
enum class Binding : std::uint8_t { all, nics };

inline bool is_nic(const topology::Link& link) { return link.tier == 1; }

}  // namespace orrery::sim
