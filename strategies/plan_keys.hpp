// The two halves of strategies::validate(), for whoever goes through many plans that differ in few keys.
#pragma once

#include "strategies/plan.hpp"

namespace orrery::strategies {

/// Throws Error as validate() does, for what a key of the strategy or the training says by itself, and for a model that
/// breaks a rule of models.
void check_keys(const Plan& plan);

/// The same for what keys say together, of a plan whose keys check_keys() lets pass.
void check_together(const Plan& plan, bool batch_divided = true);

}  // namespace orrery::strategies
