// Every point of a grid, simulated.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "calibrate/profile_store.hpp"
#include "planning/crew.hpp"
#include "planning/journal.hpp"
#include "planning/sweep/grid.hpp"
#include "planning/sweep/shard.hpp"

namespace orrery::planning {

struct Sweep {
    std::vector<Answer> answers;  ///< by point
    std::vector<std::uint64_t>
        best;  ///< points with an outcome: those that fit first, the most tokens per second first
};

/// Simulates points of the grid; a point that is no legal scenario is answered with its reason. Both must outlive it.
Simulate simulate_points(const Grid& grid, calibrate::ProfileStore& profiles);

/// The points of one part of a grid, in its order. Those that the journal holds are not simulated again; the others
/// are appended to it as they end. done: called after each point, from several threads.
std::vector<Answer> answers(const Grid& grid, const Shard& shard, calibrate::ProfileStore& profiles, Journal& journal,
                            const Crew& crew, const std::function<void()>& done);

/// All points, answered; `best` is empty where none is a legal scenario.
Sweep ranked(std::vector<Answer> answers);

/// Answers every point. Throws Error when none is a legal scenario, with the first one's reason.
Sweep sweep(const Grid& grid, calibrate::ProfileStore& profiles, Journal& journal, const Crew& crew,
            const std::function<void()>& done);

}  // namespace orrery::planning
