// What real execution can run so far.
#pragma once

#include "strategies/plan.hpp"

namespace orrery::run {

/// Throws Error (pointer of the scenario's key, the value, the remedy) for a plan whose program would run but which
/// cannot be executed. The plan has passed validate().
void require_executable(const strategies::Plan& plan);

}  // namespace orrery::run
