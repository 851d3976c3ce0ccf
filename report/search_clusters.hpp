// The best plans of several clusters beside each other: days against money.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "planning/search/search.hpp"
#include "report/style.hpp"

namespace orrery::report {

/// A table, the fastest first, those marked than which none is both faster and cheaper; empty for one cluster.
std::string clusters_text(const planning::SearchQuestion& question, const planning::SearchResult& result, Style style);
/// [{"gpus", "tokens", "time_s", "cost" or "gpu_hours", "on_front", "proven", and all of plan_json}]
nlohmann::ordered_json clusters_json(const planning::SearchQuestion& question, const planning::SearchResult& result);

}  // namespace orrery::report
