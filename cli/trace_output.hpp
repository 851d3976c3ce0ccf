// The timeline that a command writes.
#pragma once

#include <string>

#include "cli/options.hpp"
#include "sim/step.hpp"

namespace orrery::cli {

/// Writes it where it is wanted. file: as the user named it; notes on stderr, unless quiet, what is left out.
void write_trace(Output& trace, const std::string& file, const scenarios::Scenario& scenario, const sim::Step& step,
                 bool quiet);

}  // namespace orrery::cli
