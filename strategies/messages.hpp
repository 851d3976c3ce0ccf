// What messages between stages carry.
#pragma once

#include "strategies/step_program.hpp"

namespace orrery::strategies {

/// Whether the lane of a send or a receive carries gradients, not activations.
constexpr bool carries_gradients(Lane lane) { return lane == Lane::send_backward || lane == Lane::recv_backward; }

}  // namespace orrery::strategies
