// The HTML report of many plans: those of a sweep, or those that a search found.
#pragma once

#include <string>

#include "planning/sweep/sweep.hpp"
#include "report/search.hpp"

namespace orrery::report {

/// Plans that a page holds at most, the best of them; it says how many are left out.
inline constexpr std::size_t most_plans_of_page = 10'000;

/// command: that makes the page. Throws Error where the program was built without it.
std::string sweep_page(const planning::Points& points, const planning::Sweep& sweep, const std::string& command);
std::string search_page(const SearchReport& report, const std::string& command);

}  // namespace orrery::report
