// Placements of ranks on GPUs, compared.
#pragma once

#include <string>
#include <vector>

#include "report/style.hpp"
#include "scenarios/scenario.hpp"
#include "sim/placement_advice.hpp"

namespace orrery::report {

/// The fastest is recommended when it saves 0.1% or more.
std::string placement_text(const scenarios::Scenario& scenario, const sim::PlacementComparison& comparison,
                           Style style);
/// The same as a JSON document; seconds.
std::string placement_json(const scenarios::Scenario& scenario, const sim::PlacementComparison& comparison);

}  // namespace orrery::report
