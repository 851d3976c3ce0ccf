// What a plan's schedule goes with.
#pragma once

#include "strategies/plan.hpp"

namespace orrery::strategies {

/// Throws Error where the schedule does not fit the plan's stages and chunks (Narayanan et al. 2021, SC'21, section
/// 2.2), or what it forms later, and what it keeps.
void check_schedule(const Plan& plan);

/// Throws Error where it does not fit their number.
void check_micro_batches(const Plan& plan);

/// Throws Error where steps that follow each other without a flush, each with weights of its own, do not fit the rest.
void check_asynchronous(const Plan& plan);

}  // namespace orrery::strategies
