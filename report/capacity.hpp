// The answer of `orrery capacity`.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "planning/capacity/answer.hpp"
#include "report/style.hpp"

namespace orrery::report {

/// Candidates beside each other, what binds each, and how the chosen one's answer (the first one's, where none meets
/// the question) moves. Ends with a newline.
std::string capacity_text(const capacity::Question& question, const capacity::Answer& answer, Style style);

/// {"question", "chosen", "candidates": [{"name", "meets", "binds", "strategy", "days", ...}]}; ranges are pairs.
nlohmann::ordered_json capacity_json(const capacity::Question& question, const capacity::Answer& answer);

}  // namespace orrery::report
