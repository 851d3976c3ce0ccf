// The report for programs: JSON as prediction.schema.json describes it.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "report/measured_step.hpp"
#include "report/operations.hpp"
#include "report/records.hpp"
#include "scenarios/scenario.hpp"
#include "sim/prediction.hpp"

namespace orrery::report {

/// Raised when a key changes its meaning or goes; new keys do not raise it.
inline constexpr int schema_version = 1;

/// One JSON object and a newline; the same input gives the same bytes. Throws std::runtime_error when a number of
/// the prediction is not finite: such a prediction is a fault of the program, and JSON has no word for it.
/// more: keys that the report gets besides ("measured").
std::string json(const scenarios::Scenario& scenario, const sim::Prediction& prediction);
/// A row for each pipeline stage: its seconds by category, its bytes by kind.
Records stages(const scenarios::Scenario& scenario, const sim::Prediction& prediction);
Records stages(const scenarios::Scenario& scenario, const MeasuredStep& step);
std::string json(const scenarios::Scenario& scenario, const sim::Prediction& prediction,
                 const nlohmann::ordered_json& more);

/// The same with "operations", which may be more than fits into memory as text: written as it goes.
void json_with_operations(const scenarios::Scenario& scenario, const sim::Prediction& prediction,
                          const nlohmann::ordered_json& more, const Sink& write);
/// Of a step that was executed: the keys that only a prediction fills are null or empty.
void json_with_operations(const scenarios::Scenario& scenario, const MeasuredStep& step,
                          const nlohmann::ordered_json& more, const Sink& write);

/// The scenario with every value written out, in the keys of scenario files: loading it gives the same scenario.
nlohmann::ordered_json resolved(const scenarios::Scenario& scenario);

}  // namespace orrery::report
