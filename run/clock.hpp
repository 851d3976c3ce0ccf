// One clock for all ranks.
#pragma once

#include <vector>

#include "kernels/communicator.hpp"
#include "kernels/device.hpp"

namespace orrery::run {

/// What a rank's clock shows when rank 0's shows zero, and how far the truth may lie from it.
struct ClockOffset {
    double seconds = 0, uncertainty = 0;
};

/// The device's clock, now: that of Device::moment().
double now(kernels::Device& device);

/// In every round each rank reads its clock (stamp), all exchange the stamps, and each reads its clock again (after).
/// No message arrives before it was sent: stamp of 0 + offset <= after of r, and stamp of r <= after of 0 + offset.
/// All rounds together leave an interval, whose middle is the answer (Duda et al. 1987, convex bounds without drift).
/// [round] each, of the same length and at least one.
ClockOffset offset_between(const std::vector<double>& first_stamps, const std::vector<double>& first_afters,
                           const std::vector<double>& stamps, const std::vector<double>& afters);

/// Of this rank's clock against rank 0's. All ranks call it together.
ClockOffset clock_offset(kernels::Device& device, kernels::Communicator& world);

}  // namespace orrery::run
