// How many micro-batches of a step each data rank takes.
//
// On GPUs of several kinds the slowest sets the pace of data parallelism, unless each data rank takes a share of the
// batch by its rate (Whale, Jia et al., USENIX ATC 2022, section 3.3, which gives each its own batch size; here each
// takes its own number of micro-batches, all of one size). Ranks sum gradients over their own micro-batches and then
// once over data ranks. The sum over all examples is the same whoever took them, and so is the mean: each gradient is
// scaled by the micro-batches of the whole step, not by a rank's own, as frameworks must that average over ranks.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "strategies/plan.hpp"

namespace orrery::strategies {

/// The numbers of micro-batches that data ranks take.
struct ReplicaCounts {
    std::vector<std::uint32_t> distinct;  ///< in the order of the first data ranks that take so many; at least one
    std::vector<std::uint32_t> which;     ///< of each data rank (Mesh::data_rank): index into distinct

    [[nodiscard]] bool unequal() const { return distinct.size() > 1; }
    [[nodiscard]] std::uint32_t of(std::uint32_t data_rank) const { return distinct[which[data_rank]]; }
};

/// The plan must have passed validate().
ReplicaCounts replica_counts(const Plan& plan);

/// Whether some data rank takes more than another; of any plan.
bool unequal_replicas(const Plan& plan);

/// Such a list as text, in runs: "8x4,8x12".
std::string replica_text(const std::vector<std::uint32_t>& micro_batches);

/// The plan as the ranks have it that take so many micro-batches.
Plan with_own_micro_batches(const Plan& plan, std::uint32_t micro_batches);

/// `data` data ranks from the first on by themselves, placed linearly, with the micro-batches that each takes in the
/// plan.
Plan replicas(const Plan& plan, std::uint32_t first, std::uint32_t data);
inline Plan first_replicas(const Plan& plan, std::uint32_t data) { return replicas(plan, 0, data); }
/// The fewest data ranks that hold the whole model, by themselves: as many as divide its experts, block by block.
Plan replica_alone(const Plan& plan, std::uint32_t block);

/// Sequences of a step on a data rank, the mean.
double mean_share(const Plan& plan);

/// Throws Error (pointer under "/strategy") where the text is no list of as many numbers as there are data ranks, each
/// at least 1, whose sum is the step's micro-batches.
void check_replica_counts(const Plan& plan);

/// Throws Error (the key) for what unequal numbers do not go with: whatever lets data ranks meet in each micro-batch,
/// or keeps step otherwise.
void check_unequal_replicas(const Plan& plan);

}  // namespace orrery::strategies
