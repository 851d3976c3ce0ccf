// The largest models that are taken.
#pragma once

#include <cstdint>

namespace orrery::models {

/// Layers of one stack; a pipeline has no more stages.
inline constexpr std::uint32_t most_layers = 8192;

}  // namespace orrery::models
