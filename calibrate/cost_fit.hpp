// What each part of a kernel's time costs, fitted to measured times.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <vector>

namespace orrery::calibrate {

/// How much of each part a kernel has: units of work, of data, of whatever takes time one after the other.
inline constexpr std::size_t cost_terms = 8;
using CostTerms = std::array<double, cost_terms>;

/// Seconds per unit of each part, none negative, whose sums come nearest to the times: least absolute deviations of
/// the relative error, so that single slow readings do not count for more. A part that no kernel has costs nothing.
CostTerms fitted_costs(std::vector<CostTerms> parts, std::span<const double> seconds);

/// The sum of parts times their costs.
double total_cost(const CostTerms& parts, const CostTerms& costs);

}  // namespace orrery::calibrate
