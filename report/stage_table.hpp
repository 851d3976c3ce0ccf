// Tables with one column a pipeline stage.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "sim/step.hpp"
#include "strategies/plan.hpp"

namespace orrery::report {

/// Both tables: where one is wider than `columns` (0: as wide as it likes), neighbouring stages that are alike share a
/// column, and what is still too much stands below.

/// Milliseconds by category and stage, and each category's share of the step, the mean over all stages. Categories
/// whose share rounds to 0.0% are left out. "" without stages.
std::string breakdown_table(const sim::Step& step, const strategies::Strategy& strategy, std::size_t columns = 0);

/// GiB by kind and stage at the stage's peak, the peak itself and the three maxima. "" without stages.
std::string memory_table(const sim::Step& step, std::size_t columns = 0);

/// The stages that a table has room for, ascending: all of up to eight; else the first two, the notable one and the
/// last two.
std::vector<std::size_t> shown_stages(std::size_t stages, std::size_t notable);

}  // namespace orrery::report
