// The timeline of a step as a drawing, for documents: a row for each pipeline stage.
#pragma once

#include <string>

#include "scenarios/scenario.hpp"
#include "sim/prediction.hpp"

namespace orrery::report {

/// SVG. Above, passes of micro-batches on the compute lane, numbered from 1 where there is room; below, as a thin
/// strip, transfers that run beside them. What is left white is waiting. Of many stages evenly spaced ones are drawn,
/// and the drawing says so. Needs Prediction::program and Prediction::trace.
std::string step_svg(const scenarios::Scenario& scenario, const sim::Prediction& prediction);

}  // namespace orrery::report
