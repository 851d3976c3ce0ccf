// What `sweep` and `merge` make of a sweep.
#pragma once

#include <cstddef>
#include <string>

#include "cli/planning_options.hpp"
#include "planning/sweep/sweep.hpp"

namespace orrery::cli {

inline constexpr std::size_t default_top = 20;
/// --top.
void add_top(CLI::App& command, std::size_t& top);

/// command: the words that make its page. All must outlive the forms.
PlanForms sweep_forms(const planning::Points& points, const planning::Sweep& sweep, std::size_t top,
                      const DisplayOptions& display, const std::string& command);

}  // namespace orrery::cli
