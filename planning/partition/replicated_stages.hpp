// PipeDream's partition (Narayanan et al., SOSP'19, section 3.1): stages of consecutive layers, each on as many workers
// as it needs to keep up with the others.
//
// Workers form levels: w_1 in a node behind links of B_1 each, w_2 of those nodes behind links of B_2. Layers i to j on
// m of a level's units take, for each micro-batch,
//     T_k(i, j, m) = max(A_{k-1}(i, j), 2 (m - 1) / m gradients(i, j) / B_k) / m,
// since each unit takes every m-th micro-batch and the m sum their gradients once for m of them (a ring's bytes). A_0
// is the layers' time on one worker; A_k(i, j) that of the best pipeline on all w_k units: of stages that have all
// units among them, the least of what takes longest, a stage's T_k or the tensors that it takes from the stage before,
// and hands to the one behind, over its m links: sent / (m B_k). Links carry both directions at once (the authors'
// code, msr-fiddle/pipedream, optimizer_graph_hierarchical.py, counts twice the bytes), beside what workers compute,
// and every stage always has a micro-batch to work on: no bubble is counted.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "planning/partition/chain.hpp"

namespace orrery::planning {

struct WorkerLevel {
    std::uint32_t units = 1;      ///< workers of a node; nodes
    double bytes_per_second = 0;  ///< of one unit's link, in one direction
};

struct ReplicatedStage {
    std::uint32_t first = 0, end = 0;  ///< layers
    std::uint32_t workers = 1;
    double seconds = 0;  ///< for each micro-batch, all workers together
    bool operator==(const ReplicatedStage&) const = default;
};

struct ReplicatedStages {
    std::vector<ReplicatedStage> stages;
    double seconds = 0;  ///< for each micro-batch: of the stage, or of the link, that takes longest
};

inline constexpr std::uint32_t most_units = 256;

/// The partition over all workers. Throws Error for more than most_units in a level.
ReplicatedStages replicated_stages(const Chain& chain, std::span<const WorkerLevel> levels);

/// Of one stage on all workers: data parallelism.
double data_parallel_seconds(const Chain& chain, std::span<const WorkerLevel> levels);

}  // namespace orrery::planning
