// Ranks as threads of one process: a Communicator for tests, and for several ranks on one machine without MPI. Every
// rank has a device of its own whose streams are host threads.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "kernels/communicator.hpp"

namespace orrery::kernels {

/// devices[r]: of rank r; they must outlive the communicators. Device::run of each must take host work.
std::vector<std::unique_ptr<Communicator>> thread_world(const std::vector<Device*>& devices);

}  // namespace orrery::kernels
