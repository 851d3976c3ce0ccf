// Real execution of a scenario, as commands use it.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

#include "run/measured.hpp"
#include "run/place.hpp"
#include "scenarios/scenario.hpp"

namespace orrery::cli {

struct Execution {
    std::string device = "cpu", communication = "auto", hosts;
    bool emulate = false;     ///< kernels sleep for the time that the scenario's profile predicts
    std::uint32_t ranks = 0;  ///< 0: as the scenario's plan
    run::RunSettings settings;
    double stall = 0;  ///< seconds in which no rank begins an operation that end a run; 0: Watchdog's own
    std::string keep;  ///< folder for what is left of a failed run; empty: one of our own
};

/// Runs a scenario's plan with orrery-device, started by mpirun, or as a rank of the job that this process belongs to.
/// joined: whether it is such a rank, and not the first: the others have no result. Throws Error for a plan that cannot
/// be executed or another number of ranks, and RunFailure when it fails.
struct Executed {
    run::MeasuredRun measured;
    bool joined = false;
};
Executed execute(const scenarios::Scenario& scenario, const Execution& execution);

/// A run that did not end well: which rank, on which host, at which operation, and what to do. Exit code 3.
class RunFailure : public std::runtime_error {
    using std::runtime_error::runtime_error;
};

}  // namespace orrery::cli
