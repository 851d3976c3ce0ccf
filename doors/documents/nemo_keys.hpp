// What the keys of NeMo's configurations mean for a scenario.
#pragma once

#include <span>

#include "doors/meaning.hpp"

namespace orrery::doors {

std::span<const Row> nemo_keys();

}  // namespace orrery::doors
