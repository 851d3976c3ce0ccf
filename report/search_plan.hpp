// A plan that a search found, in the forms that its table, its CSV, its JSON and its page share.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "base/table.hpp"
#include "planning/search/search.hpp"

namespace orrery::report {

const planning::ObjectiveRow& objective_of(const planning::SearchQuestion& question);

/// The columns of a table that say which plan it is (the site's values, sizes, schedule, what is kept and what else),
/// and their cells.
std::vector<Table::Column> plan_columns(const planning::SearchQuestion& question);
std::vector<std::string> plan_cells(const planning::SearchQuestion& question, const planning::FoundPlan& plan);

/// A plan as texts: the site's values, all of its strategy, and the micro-batch; and their keys.
std::vector<std::string> plan_keys(const planning::SearchQuestion& question);
std::vector<std::string> plan_values(const planning::SearchQuestion& question, const planning::FoundPlan& plan);

/// {"plan", "site", outcome..., "strategy", "micro_batch_size", "set"}
nlohmann::ordered_json plan_json(const planning::SearchQuestion& question, const planning::FoundPlan& plan);

}  // namespace orrery::report
