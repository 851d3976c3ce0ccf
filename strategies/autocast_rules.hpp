// What torch.autocast goes with.
#pragma once

#include "strategies/plan.hpp"

namespace orrery::strategies {

/// Throws Error at "/training/autocast" where weights in fp32 cannot be cast for each product.
void check_autocast(const Plan& plan);

}  // namespace orrery::strategies
