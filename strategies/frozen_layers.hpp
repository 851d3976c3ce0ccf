// Plans in which the embedding and some of the first layers are not trained: their weights have no gradients and no
// states, and since nothing before them is trained either no backward reaches them. They keep nothing of their forward.
// What a stage's first trained layer hands to none of them is priced as ever: autograd would leave out one product.
#pragma once

#include "strategies/plan.hpp"

namespace orrery::strategies {

/// Throws Error where frozen layers do not go with the rest of the plan.
void check_frozen(const Plan& plan);

}  // namespace orrery::strategies
