// What Megatron-LM's arguments mean for a scenario, and those of its forks that public launch scripts use.
#pragma once

#include <span>

#include "doors/meaning.hpp"

namespace orrery::doors::megatron {

/// All rows, by name without dashes in front and with '_' for '-'.
std::span<const Row> flags();

// Its parts: what has an effect on time or memory, and what has none.
std::span<const Row> flags_of_step();
std::span<const Row> flags_without_effect();

}  // namespace orrery::doors::megatron
