// A whole training with its failures, checkpoints and input.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "reliability/bill.hpp"
#include "reliability/goodput.hpp"
#include "sim/step.hpp"

namespace orrery::report {

/// "with failures 33.0 days (32.4 to 33.7 in 80% of 1,000 runs)   goodput 92.9%", without an end of line.
std::string whole_run_line(const reliability::Forecast& forecast);

/// Where the wall clock goes, lines of failures, checkpoints and energy. Ends with a newline.
std::string whole_run_table(const sim::Step& step, const reliability::Forecast& forecast);

/// The same for programs: "whole_run" of prediction.schema.json.
nlohmann::ordered_json whole_run_json(const sim::Step& step, const reliability::Forecast& forecast);

/// GPU-hours and energy of the GPUs that ranks run on, and of spare nodes that were stated.
reliability::Bill whole_run_bill(const sim::Step& step, const reliability::Forecast& forecast,
                                 const reliability::Costs& costs = {});

/// Of energy, or of what comes with it; null where it is not known what a GPU draws.
nlohmann::ordered_json known_range(const reliability::Range& range);

/// "391 to 794 MWh"; one number where both are the same.
std::string range_text(const reliability::Range& range, std::string_view unit);

}  // namespace orrery::report
