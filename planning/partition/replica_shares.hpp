// Micro-batches divided among data ranks on several kinds of GPU, so that the slowest of them takes least.
//
// A data rank with n micro-batches takes n times its slowest stage and, once, what its other stages take: gradients
// meet when the last rank has come so far. Whale (Jia et al., USENIX ATC 2022, section 3.3) gives each data rank a
// batch by its GPUs' peak FLOP/s; here each takes whole micro-batches, by kernels' times.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "planning/partition/stage_tables.hpp"

namespace orrery::planning {

/// Of one data rank: a micro-batch, forward and backward, on its slowest stage, and on all of its others together (of
/// several chunks a stage on one of them each), as long as its GPUs take or their hosts.
struct ReplicaPace {
    double slowest = 0, others = 0;      ///< seconds
    std::set<std::uint32_t> kinds = {};  ///< of its GPUs, numbers in sim::Kinds
    [[nodiscard]] double seconds(std::uint32_t micro_batches) const { return micro_batches * slowest + others; }
};

/// Of each data rank, on its own GPUs. prices must have been placed for the plan.
std::vector<ReplicaPace> replica_paces(const strategies::Plan& plan, const StageTables& tables, const Prices& prices);

/// Micro-batches of each data rank: the step's, as many as the schedule demands to each, the rest where they end first.
std::vector<std::uint32_t> balanced_shares(const strategies::Plan& plan, const std::vector<ReplicaPace>& paces);

}  // namespace orrery::planning
