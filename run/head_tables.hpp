// Where rows go when context ranks exchange their tokens' heads for all tokens of some heads, or gather all tokens'
// keys.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "run/place.hpp"
#include "strategies/dataflow.hpp"

namespace orrery::run {

/// The tables from Table::spread_queries to Table::by_rank that the plan's exchange takes, as strategies/dataflow.hpp
/// says, for a micro-batch.
std::map<strategies::Table, std::vector<std::int32_t>> head_tables(const Place& place);

}  // namespace orrery::run
