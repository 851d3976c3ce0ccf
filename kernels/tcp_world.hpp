// CPU ranks that communicate over plain TCP, without MPI.
#pragma once

#include <memory>

#include "kernels/communicator.hpp"
#include "kernels/processes.hpp"

namespace orrery::kernels {

/// The group of all processes; the streams of the device must be host threads. timeout_seconds: how long to wait for a
/// rank, at any time. Throws DeviceError.
std::unique_ptr<Communicator> tcp_world(Device& device, const Processes& processes, double timeout_seconds = 600);

}  // namespace orrery::kernels
