// What kinds of models demand of a plan: two stacks, state-space mixers, images, Transformer-XL.
#pragma once

#include "strategies/plan.hpp"

namespace orrery::strategies {

/// Throws Error (pointer under "/strategy" or "/training") where the model cannot be divided so.
void check_model_division(const Plan& plan);

/// The same where images and texts of a step are compared, of a plan whose batch is divided evenly.
void check_comparison(const Plan& plan);

}  // namespace orrery::strategies
