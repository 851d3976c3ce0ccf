// What a row measured, as seconds per step.
#pragma once

#include <vector>

#include "scenarios/scenario.hpp"
#include "validate/row.hpp"

namespace orrery::validate {

/// Throws Skip when the row measured no time or rate of a step: a ratio, bytes, a bandwidth, an out-of-memory.
/// Needs nothing but the row, so that such rows are named for what they are.
void check_measured(const Row& row);

/// Seconds per step. A printed time comes before a rate, and a rate of sequences or tokens before one of FLOPs, whose
/// conventions differ; README.md lists the order and the formulas. Throws Skip.
double measured_seconds(const Row& row, const scenarios::Scenario& scenario, const topology::Gpu& gpu);

}  // namespace orrery::validate
