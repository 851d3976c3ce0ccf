// Which layers have experts, as Megatron-LM's moe-layer-freq says it in a Python list.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace orrery::models {

/// Of "([0]*3+[1]*58)", with or without brackets around it and once at most ("*1"), 3: the first so many layers have no
/// experts, all others have. Nothing of any other text.
std::optional<std::uint32_t> first_dense_layers(std::string_view list);

}  // namespace orrery::models
