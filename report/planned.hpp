// What planning says of many plans, in the forms that they share: cells of tables, of CSV files and of JSON documents.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "base/table.hpp"
#include "planning/evaluate.hpp"

namespace orrery::report {

/// Columns of a table: step, tokens/s, MFU, memory, what takes time; and their cells.
std::vector<Table::Column> outcome_columns();
std::vector<std::string> outcome_cells(const planning::Outcome& outcome);

/// Name of a column of files for an axis: that of GPUs asked for stands beside that of GPUs that there are.
std::string axis_name(const std::string& key);

/// The names of an outcome's fields and its values, numbers to the last bit; "" for a scale factor that nobody asked
/// for, and for the time of a training whose tokens nobody stated.
std::vector<std::string> outcome_names();
std::vector<std::string> outcome_values(const planning::Outcome& outcome);

/// Adds an outcome's fields to an object, null where outcome_values() has nothing.
void add_outcome(const planning::Outcome& outcome, nlohmann::ordered_json& object);

}  // namespace orrery::report
