// What a row says of its plan in the keys of scenario files.
#pragma once

#include "strategies/plan.hpp"
#include "validate/row.hpp"

namespace orrery::validate {

/// Sets what a row of steps or memory holds under `scenario`, in its objects `strategy` and `training`: what the
/// configuration that ran sets, and no field of the format has a word for. It goes before every rule. Throws Skip where
/// a key is unknown or out of range.
void read_stated_keys(const Row& row, strategies::Plan& plan);

}  // namespace orrery::validate
