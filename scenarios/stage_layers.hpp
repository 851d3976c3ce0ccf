// Layers of the stages of a pipeline as scopes write them.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace orrery::scenarios {

/// "0-7", or "8 layers" behind those of the stage before; next: the first layer that is in no stage yet. Throws Error
/// without a place.
std::uint32_t stage_layers(std::string_view text, std::uint32_t next);

/// Layers of each of so many chunks, which differ by one at most; those in the middle have one more, since the ends
/// also hold the embedding and the loss. Empty where all have as many.
std::vector<std::uint32_t> even_layers(std::uint32_t layers, std::uint32_t chunks);

}  // namespace orrery::scenarios
