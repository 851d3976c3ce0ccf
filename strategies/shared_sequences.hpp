// Kernels of attention over sequences that context ranks share: over which tokens a rank launches them.
//
// Rank r of C holds parts r and 2 C - 1 - r of the 2 C parts of every sequence, so that under a causal mask all have as
// much to do. In a ring it meets the keys of each rank before it once: of an earlier part of the sequence (a lower
// rank) all its queries see the first half, of a later one the second half of its queries sees all. Without a mask all
// see all.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/kernel.hpp"
#include "strategies/dataflow.hpp"

namespace orrery::strategies {

/// Consecutive tokens of each sequence.
struct TokenRun {
    std::uint32_t first = 0, count = 0;
};

/// What meets in a step on one context rank: of the queries that it holds, and of the keys at hand.
struct Meeting {
    TokenRun queries, keys;
    bool causal = false;  ///< the last query stands beside the last key
};
Meeting meeting(const SharedSequences& shared, std::uint32_t context_rank);

/// One launch of such a kernel.
struct SharedLaunch {
    kernels::Kernel kernel;
    std::vector<std::uint64_t> offsets;  ///< elements, of each operand behind where its view begins
};
/// On one context rank: one for all sequences where all their rows take part, else one for each. The launch's settings
/// hold for each of them. Throws std::logic_error for a kernel that is not attention's.
std::vector<SharedLaunch> shared_launches(const kernels::Kernel& kernel, const Launch& launch,
                                          std::uint32_t context_rank);
/// The kernel as if all rows took part: what its operands have room for.
kernels::Kernel over_all_rows(const kernels::Kernel& kernel, const SharedSequences& shared);

}  // namespace orrery::strategies
