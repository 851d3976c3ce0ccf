// How replicas keep step over a window of steps, and the two stages of a training with compressed momentum.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "scenarios/scenario.hpp"
#include "sim/prediction.hpp"
#include "synchrony/window.hpp"

namespace orrery::report {

/// One line of the warm-up's steps and the volume of both stages.
std::string warm_up_line(const sim::WarmUp& stage);
/// The same for programs: "warm_up" of prediction.schema.json.
nlohmann::ordered_json warm_up_json(const sim::WarmUp& stage);

/// A headline, what each replica did, and how stale its steps were. token_budget: 0 for none.
std::string synchrony_text(const synchrony::Outcome& window, double token_budget, std::string_view unit);
/// The same for programs: "synchrony" of prediction.schema.json.
nlohmann::ordered_json synchrony_json(const synchrony::Outcome& window, double token_budget);

}  // namespace orrery::report
