// A sweep as a table, as CSV and as JSON.
#pragma once

#include <string>

#include "planning/sweep/sweep.hpp"
#include "report/style.hpp"

namespace orrery::report {

/// The best `top` points, the fastest GPUs by number where that was varied, and why others cannot be.
std::string sweep_text(const planning::Points& grid, const planning::Sweep& sweep, std::size_t top, Style style);
/// A line a point, in the order of the grid: the varied values, its rank among those that can be (1: the best), what
/// came of it, or the problem.
std::string sweep_csv(const planning::Points& grid, const planning::Sweep& sweep);
std::string sweep_json(const planning::Points& grid, const planning::Sweep& sweep);

}  // namespace orrery::report
