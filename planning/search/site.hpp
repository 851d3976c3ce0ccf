// Where plans are looked for: a scenario whose plan is still open, on its cluster.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "calibrate/profile_store.hpp"
#include "scenarios/scenario.hpp"
#include "sim/kinds.hpp"
#include "topology/cluster.hpp"

namespace orrery::planning {

struct Site {
    /// gpus: as many may be used; 0: all of the cluster. Throws Error for a scenario with perturbations or other jobs,
    /// under which no bound would be proven.
    Site(scenarios::Scenario scenario, std::uint32_t gpus, calibrate::ProfileStore& store);
    /// The scenario under such a plan.
    [[nodiscard]] scenarios::Scenario under(const strategies::Strategy& strategy, std::uint32_t micro_batch) const;

    /// GPUs that are paid while a plan of so many ranks runs: all of them, and spare nodes for which idle ones are not
    /// enough.
    [[nodiscard]] double held(std::uint32_t ranks) const;

    scenarios::Scenario scenario;  ///< whatever plan it has is not looked at but for what no row sets
    topology::Cluster cluster;
    sim::Profiles profiles;
    std::uint32_t gpus = 0;         ///< that may be used
    std::uint64_t most_memory = 0;  ///< bytes of the GPU that has most
};

/// What went wrong in reading a scenario whose plan is open, as a search says it: stragglers are ranks that such a plan
/// has not.
Error of_open_plan(const Error& error);

}  // namespace orrery::planning
