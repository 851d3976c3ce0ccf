// What messages between stages carry.
#pragma once

#include "strategies/step_program.hpp"

namespace orrery::strategies {

/// Of a message of activations (forward) or gradients, on the way from the first stage to the last or against it.
constexpr Lane send_lane(bool forward, bool against) {
    if (against) return forward ? Lane::send_forward_against : Lane::send_backward_against;
    return forward ? Lane::send_forward : Lane::send_backward;
}
constexpr Lane receive_lane(bool forward, bool against) {
    if (against) return forward ? Lane::recv_forward_against : Lane::recv_backward_against;
    return forward ? Lane::recv_forward : Lane::recv_backward;
}

/// Whether the lane of a send or a receive carries gradients, not activations.
constexpr bool carries_gradients(Lane lane) {
    return lane == Lane::send_backward || lane == Lane::recv_backward || lane == Lane::send_backward_against ||
           lane == Lane::recv_backward_against;
}

}  // namespace orrery::strategies
