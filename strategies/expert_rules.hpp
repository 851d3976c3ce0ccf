// Which plans of experts are legal.
#pragma once

#include "strategies/plan.hpp"

namespace orrery::strategies {

/// Expert groups lie inside data groups (Rajbhandari et al. 2022; Megatron-LM, expert-model-parallel-size). Throws
/// Error (pointer under "/strategy" or "/training") with the nearest legal values; of a model without experts where a
/// key is given that means nothing without them.
void check_experts(const Plan& plan);

}  // namespace orrery::strategies
