// A search as text, as CSV and as JSON.
#pragma once

#include <string>
#include <vector>

#include "planning/search/search.hpp"
#include "report/style.hpp"

namespace orrery::report {

/// own: the scenario's own plan, where it can be simulated; simulate: the command line that predicts the scenario as it
/// was asked about, which the changes of a plan are put behind.
struct SearchReport {
    const planning::SearchQuestion* question;
    const planning::SearchResult* result;
    std::string simulate;
    planning::Answer own;
};

/// What was looked at, the best plans, the fronts, and how to run the best.
std::string search_text(const SearchReport& report, Style style);
/// A line a plan: the best in order, then those of the front that are not among them.
std::string search_csv(const SearchReport& report);
std::string search_json(const SearchReport& report);

bool among(const std::vector<planning::FoundPlan>& list, const planning::FoundPlan& plan);

}  // namespace orrery::report
