// The report that a person reads in a terminal.
#pragma once

#include <string>

#include "report/measured_step.hpp"
#include "report/style.hpp"
#include "scenarios/scenario.hpp"
#include "sim/prediction.hpp"

namespace orrery::report {

/// Headline, whether it fits, key figures, where the time goes by stage, memory by stage, bottleneck, advice, warnings,
/// provenance. Ends with a newline; the same input gives the same text.
std::string terminal(const scenarios::Scenario& scenario, const sim::Prediction& prediction, Style style);

/// Of a step that was executed: without what only a simulation knows.
std::string terminal(const scenarios::Scenario& scenario, const MeasuredStep& step, Style style);

}  // namespace orrery::report
