// The fields of Strategy and Training as keys: of a scenario, of a plan file, of what a report writes out.
#pragma once

#include "documents/fields.hpp"
#include "strategies/plan.hpp"

namespace orrery::strategies {

/// Every field, in the order in which they are written. Ranges keep byte counts in 64 bits and kernel shapes in 32;
/// they lie far beyond any published run.
std::span<const documents::Field<Strategy>> strategy_fields();
std::span<const documents::Field<Training>> training_fields();

}  // namespace orrery::strategies
