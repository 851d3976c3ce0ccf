// The timeline that a command writes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/options.hpp"
#include "sim/step.hpp"

namespace orrery::cli {

/// Writes it where it is wanted. file: as the user named it; notes on stderr, unless quiet, what is left out. ranks: as
/// report::TraceOptions has them.
void write_trace(Output& trace, const std::string& file, const scenarios::Scenario& scenario, const sim::Step& step,
                 bool quiet, const std::vector<std::uint32_t>& ranks = {});

}  // namespace orrery::cli
