// When shares of weights are there and gradients are reduced: what of it goes with the rest of a plan.
#pragma once

#include <string>
#include <string_view>

#include "strategies/plan.hpp"

namespace orrery::strategies {

/// Throws Error where keys of FSDP, or when gradients are reduced, do not go with the rest of the plan.
void check_sharding(const Plan& plan);

/// Whether a sharding divides gradients, too: ZeRO's second stage and third.
constexpr bool divides_gradients(Sharding sharding) { return row_of(sharding).kept.gradients != Placement::partial; }

/// Of gradients that are reduced behind every backward: the key that demands it, and its value in words.
std::string_view key_of_syncs(const Strategy& strategy);
std::string said_of_syncs(const Strategy& strategy);

}  // namespace orrery::strategies
