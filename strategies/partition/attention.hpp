// The attention core on one tensor rank: fused, or as batched products with a softmax over seq x seq.
#pragma once

#include "models/operators.hpp"
#include "strategies/partition/tensor.hpp"

namespace orrery::strategies {

/// Heads are split over the tensor axis; nothing is communicated.
Piece attention_piece(const models::AttentionCore& op, const Plan& plan);

}  // namespace orrery::strategies
