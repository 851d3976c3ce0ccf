// Keys of products in fp8 and fp4: what of them goes with the rest of a plan.
#pragma once

#include "strategies/plan.hpp"

namespace orrery::strategies {

/// Throws Error where attention, logits, weights or what is kept of them cannot be in a narrow format.
void check_narrow_formats(const Plan& plan);

}  // namespace orrery::strategies
