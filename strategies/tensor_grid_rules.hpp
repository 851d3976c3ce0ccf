// What a grid of tensor ranks demands of a plan.
#pragma once

namespace orrery::strategies {

struct Plan;

/// Throws Error by key: tensor must be q^2 (2d), tensor_depth x q^2 (2.5d) or l^3 (3d), sequences of a micro-batch and
/// the model's widths and heads must divide, and what is written for ranks that divide one width (sequence and context
/// parallelism, collectives in parts, narrow formats, adapters, ...) or for models that are no plain decoders does not
/// go with it.
void check_tensor_grid(const Plan& plan);

}  // namespace orrery::strategies
