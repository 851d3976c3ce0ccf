// What an update multiplies gradients by, formed on the GPU, so that the host need not know their norm.
#pragma once

#include "kernels/cuda/place.hpp"
#include "kernels/settings.hpp"

namespace orrery::kernels::cuda {

/// Writes settings.live_update.values->factor: scale_factor, or 1, times what brings the norm down to most_norm.
void launch_form_factor(const Place& place, const Settings& settings);

}  // namespace orrery::kernels::cuda
