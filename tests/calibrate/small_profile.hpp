// A profile small enough to reason about by hand.
#pragma once

#include "calibrate/profile.hpp"

namespace orrery::calibrate {

/// A machine of 100 TFLOP/s (16 bits) and 1 TB/s without throttling (sustained_gemm 1): a 3 x 3 x 3 GEMM grid at half
/// the peak after 4 us, forward causal attention, `add` and all_reduce among 2 and 8.
Profile small_profile();

}  // namespace orrery::calibrate
