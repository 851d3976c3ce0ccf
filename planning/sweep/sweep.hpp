// Every point of a grid, simulated.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "calibrate/profile_store.hpp"
#include "planning/journal.hpp"
#include "planning/sweep/grid.hpp"

namespace orrery::planning {

struct Sweep {
    std::vector<Answer> answers;  ///< by point
    std::vector<std::uint64_t>
        best;  ///< points with an outcome: those that fit first, the most tokens per second first
};

/// Points that the journal holds are not simulated again; the others are appended to it as they end. done: called after
/// each point, from several threads. Throws Error when no point is a legal scenario, with the first one's reason.
Sweep sweep(const Grid& grid, calibrate::ProfileStore& profiles, Journal& journal, unsigned threads,
            const std::function<void()>& done);

}  // namespace orrery::planning
