// Jobs that share the cluster with the scenario's own: /other_jobs.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "strategies/plan.hpp"
#include "topology/catalog.hpp"
#include "topology/cluster.hpp"

namespace orrery::documents {
class Reader;
}

namespace orrery::scenarios {

/// What an entry says, and what comes of it. Model, strategy and training are those of its scenario; cluster and
/// profile are the own scenario's.
struct OtherJob {
    std::string scenario;                    ///< path of its file
    std::vector<std::string> set = {};       ///< overrides: "strategy.tensor=4"
    std::optional<std::uint32_t> first_gpu;  ///< of rank 0; absent: after the jobs before it, or as it is placed
    double starts_at = 0;                    ///< seconds after the own step's begin

    std::string name = {};
    strategies::Plan plan = {};  ///< placed on its GPUs
};

/// The entries of a scenario on `cluster`, built from `spec`, whose own job is `own`. Throws Error: for what the
/// entries or their files get wrong, jobs of jobs, perturbations of other jobs, and GPUs that two jobs want.
std::vector<OtherJob> read_other_jobs(const documents::Reader& top, const strategies::Plan& own,
                                      const topology::ClusterSpec& spec, const topology::Cluster& cluster);

}  // namespace orrery::scenarios
