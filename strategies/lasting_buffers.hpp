// What a rank holds of its stage from the step's beginning to its end, beside gradients.
#pragma once

#include "strategies/intern.hpp"
#include "strategies/plan.hpp"
#include "strategies/stage.hpp"

namespace orrery::strategies {

/// Declares the buffers of weights and of the optimizer's states on the device, of the sizes that the plan's ownership
/// gives a rank; where nothing executes what happens to them, the program is one that is priced alone.
void emit_lasting_buffers(const Plan& plan, const Stage& stage, Builder& builder);

}  // namespace orrery::strategies
