// Fused attention on TPUs: Google's own readings.
#pragma once

#include <vector>

#include "calibrate/attention_backward.hpp"
#include "calibrate/profile.hpp"
#include "hardware/gpu.hpp"

namespace orrery::calibrate {

/// Causal attention of 512 to 16,384 tokens (131,072 on TPU7x) and heads of 64, 128 and 256 columns, as tokamax's
/// autotuning and its report of splash attention have it: the best of the blocks that were tried, forward with what a
/// backward needs, and of TPU7x backward. A chip that was not read has the shares of the peak that TPU v5p reached.
std::vector<AttentionTable> chip_attention(const hardware::Gpu& chip);

/// Of those that were read forward alone: the median of TPU7x's rates backward over forward.
inline constexpr AttentionBackward tpu_backward{
    1.27, "median of 19 shapes on TPU7x, backward over forward (openxla/tokamax, its autotuning data)"};

}  // namespace orrery::calibrate
