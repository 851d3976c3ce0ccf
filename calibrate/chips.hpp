// Profiles of TPUs: datasheets, and the few readings of their kernels that are published. None was measured here.
#pragma once

#include <span>
#include <string_view>

#include "calibrate/profile.hpp"

namespace orrery::calibrate {

/// "tpu-v3", "tpu-v4", "tpu-v5e", "tpu-v5p", "tpu-v6e", "tpu7x": default profiles of the chips of hardware::gpus().
std::span<const std::string_view> chips();

/// Products are a few, of most chips one, a share of the datasheet's peak that was read on another generation;
/// attention is Google's readings (chip_attention.hpp); memory-bound kernels follow from the bandwidth. Each constant
/// and point says where it comes from. Throws Error for an unknown name.
Profile chip_profile(std::string_view name);

}  // namespace orrery::calibrate
