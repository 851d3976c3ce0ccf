// orrery validate --run: calibrate, predict, run, compare.
#pragma once

#include <string>
#include <vector>

#include "base/error.hpp"
#include "cli/execute.hpp"

namespace orrery::cli {

struct ValidateRun {
    std::vector<std::string> scenarios;
    /// Overrides of one configuration each, separated by spaces; none: the scenarios as they are.
    std::vector<std::string> cases;
    std::string device = "cpu";
    std::string hosts;                    ///< an Open MPI host file; empty: this host
    std::string profiles = "calibrated";  ///< folder of the profiles that are made; they are kept and grow
    std::uint32_t steps = 20;
    bool wall = false;  ///< compare with the wall clock, and not with undisturbed steps
    bool quiet = false;
    double tolerance_percent = 5;  ///< of the median error
    std::string json, svg;
};

/// Outside the tolerance: exit code 1. Throws Error, and RunFailure.
Exit validate_run(const ValidateRun& options);

}  // namespace orrery::cli
