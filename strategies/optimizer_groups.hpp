// Group-wise apply (Whale, ATC'22; EPL's optimizer.num_apply_group): groups of parameters are updated one behind the
// other, so that fp32 copies of 16-bit gradients are there of one group at a time. Their norm, and an overflow, are
// then found in 16 bits before the first.
#pragma once

#include "strategies/intern.hpp"
#include "strategies/plan.hpp"
#include "strategies/updates.hpp"

namespace orrery::strategies {

/// Throws Error where groups do not go with the rest of the plan.
void check_apply_groups(const Plan& plan);

inline bool applies_in_groups(const Plan& plan) { return plan.training.apply_groups > 1; }

/// Casts, clipping and Adam of each group; `owned` parameters in all. The first waits for `first`, the last leaves
/// `updated`.
void update_in_groups(const Plan& plan, std::uint64_t owned, std::span<const BufferId> first, Builder& builder,
                      Updates& out, BufferId updated);

}  // namespace orrery::strategies
