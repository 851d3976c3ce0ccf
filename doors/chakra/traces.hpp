// The Chakra execution traces of a step, a file a rank, as one graph.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "strategies/step_graph.hpp"

namespace orrery::doors::chakra {

struct Request {
    /// What the files' names begin with, as ASTRA-sim takes it (DIR/NAME of DIR/NAME.0.et, DIR/NAME.1.et, ...; .et.gz
    /// too), one of the files, or a folder that holds the files of one step.
    std::string prefix;
    /// {"1": [0, 1], ...}: ASTRA-sim's --comm-group-configuration. Empty: groups.json beside the files, where it is.
    std::string groups;
};

struct Traces {
    std::string prefix;
    strategies::StepGraph step;
    std::string groups;              ///< file that they were read from; empty: none was
    std::vector<std::string> notes;  ///< what was read otherwise than it is written
};

/// Throws Error for files that are missing or cannot be replayed (rank_trace.hpp, strategies::check).
Traces read_traces(const Request& request);

}  // namespace orrery::doors::chakra
