// Two runs of one step that must come to the same times: folded and unfolded, our engine and SimGrid's.
#pragma once

#include <cstdint>
#include <string>

#include "calibrate/profile_store.hpp"
#include "scenarios/scenario.hpp"
#include "sim/run_step.hpp"

namespace orrery::sim {

struct Agreement {
    static constexpr double tolerance = 1e-9;

    double difference = 0;   ///< largest between ends of the same operation or rank, in parts of the step's time
    std::uint32_t rank = 0;  ///< where that is
    std::uint64_t compared = 0;
    std::string names;  ///< "folded (8 classes) and unfolded (1,024)"

    [[nodiscard]] bool agrees() const { return difference <= tolerance; }
    /// One line for people.
    [[nodiscard]] std::string text() const;
};

/// Ends of every rank of every job, and of every operation of ranks that both have recorded. Both must be runs of one
/// plan.
Agreement compare(const RanStep& one, const RanStep& other);

/// Runs the scenario both ways; on both engines in whole bytes, which is how CM02 counts. Throws Error as predict()
/// does, and when the reference cannot take the traffic. progress: operations, of one run after the other.
Agreement check_folding(const scenarios::Scenario& scenario, calibrate::ProfileStore& profiles, EngineKind engine,
                        const ProgressCallback& progress = {});
Agreement check_engine(const scenarios::Scenario& scenario, calibrate::ProfileStore& profiles, bool fold,
                       const ProgressCallback& progress = {});

}  // namespace orrery::sim
