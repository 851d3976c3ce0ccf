// How a scenario's layers are best divided among stages, and its batch among data ranks.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "calibrate/profile_store.hpp"
#include "planning/evaluate.hpp"
#include "planning/partition/replicated_stages.hpp"
#include "scenarios/scenario.hpp"

namespace orrery::planning {

/// Stages of equally many ranks, in the scenario's own plan.
struct Division {
    std::vector<std::uint32_t> layers;  ///< of each chunk, in the order in which a micro-batch meets them
    std::vector<double> seconds;        ///< of a micro-batch on each stage
    Outcome outcome;                    ///< simulated
    [[nodiscard]] double slowest() const;
};

/// What PipeDream would do with the same GPUs, tensor and context ranks being one worker: its stages may have different
/// numbers of workers, which no plan says.
struct Replication {
    ReplicatedStages best;
    double data_parallel = 0;  ///< seconds a micro-batch of one stage on all workers, by nodes or all at once
};

/// Data ranks and their micro-batches of a step, in the scenario's own plan.
struct Shares {
    std::vector<std::uint32_t> micro_batches;  ///< of each data rank
    std::vector<double> seconds;               ///< that its own work takes, gradients not counted
    Outcome outcome;                           ///< simulated
};

struct Partition {
    std::vector<std::string> names;  ///< of the whole chain's layers, ends among them
    std::optional<Division> planned, balanced;
    std::string not_divided;  ///< why neither is there
    std::optional<Replication> replicated;
    std::string not_replicated;
    /// Where data ranks are on several kinds of GPU.
    std::optional<Shares> planned_shares, balanced_shares;
    std::vector<std::string> gpus;  ///< of each data rank, names of the kinds
    std::string not_shared;         ///< why there are none on several kinds; empty on one
};

/// Throws Error for scenarios that no plan is looked for in (Site), and where neither answer can be given.
Partition partition(const scenarios::Scenario& scenario, calibrate::ProfileStore& profiles);

/// "8x4,8x12", as strategy.replica_micro_batches has it.
std::string replica_micro_batches(const Shares& shares);

/// "3,4,4,3", as strategy.pipeline_layers has it.
std::string pipeline_layers(const Division& division);

}  // namespace orrery::planning
