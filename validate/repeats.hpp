// What was measured more than once: how far a source is from itself, which no prediction can be nearer than.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "validate/score.hpp"

namespace orrery::validate {

/// Of the predicted rows of a source that become equal scenarios: runs that were repeated, and runs that differ in what
/// a scenario does not hold (releases of the software, the day).
struct Repeats {
    std::size_t scenarios = 0, rows = 0;  ///< measured more than once; their rows
    std::optional<double> spread;         ///< median over these rows of |measured / median of its scenario's - 1|
    std::optional<double> inside;         ///< share of the rows whose prediction lies between least and most measured
};

Repeats repeats(const std::vector<Result>& rows);

}  // namespace orrery::validate
