// Where a tensor's values are along one mesh axis, and the collective that moves them elsewhere.
#pragma once

#include <cstdint>
#include <optional>

#include "kernels/collective.hpp"

namespace orrery::strategies {

/// Along one axis: every rank holds all of it, a part of it (along the width that an operator splits, along the
/// sequence, or an equal part of its elements whatever their shape), or a term of the sum.
enum class Placement : std::uint8_t { replicated, sharded_width, sharded_sequence, sharded_flat, partial };

/// The collective that turns one placement into another, none when nothing has to move: partial to replicated is
/// all_reduce, partial to sharded reduce_scatter, sharded to replicated all_gather, sharded to sharded otherwise
/// all_to_all, replicated to sharded nothing. Throws std::logic_error for a conversion to partial, which no operator
/// needs.
std::optional<kernels::CollectiveKind> conversion(Placement from, Placement to);

}  // namespace orrery::strategies
