// What PyTorch's modules and parallel ranks do otherwise than Megatron-LM's, in random scenarios.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>

namespace orrery::scenarios {

/// Sets keys of the sections strategy and training of a scenario that has all others, by draws of their own.
void draw_pytorch(std::uint64_t seed, nlohmann::json& scenario);

}  // namespace orrery::scenarios
