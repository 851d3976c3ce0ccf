// The table of all strategies (strategies/STRATEGIES.md), held against what there is.
#pragma once

#include "tests/code/rules.hpp"

namespace orrery::code {

/// Rows without six cells, empty cells, tests that no source has.
Findings strategy_rows(const SourceFile& table, const std::vector<SourceFile>& project);
/// Keys of strategies (strategies/strategy_fields.cpp) and schedules (strategies/schedule/schedule.hpp) without a row.
Findings strategies_left_out(const SourceFile& table, const std::vector<SourceFile>& project);

}  // namespace orrery::code
