// What the GPUs of a step draw.
#pragma once

#include "hardware/power.hpp"
#include "sim/step.hpp"

namespace orrery::sim {

/// Watts of one of them, the mean over their kinds; of a node never less than of its GPU.
hardware::Power mean_power(const Step& step);

}  // namespace orrery::sim
