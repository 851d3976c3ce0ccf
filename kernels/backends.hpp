// The kinds of device that a build may have, and the communication that belongs to each. A backend that a build lacks
// is one file of absent/, which says so.
#pragma once

#include <memory>
#include <string_view>

#include "kernels/communicator.hpp"
#include "kernels/device.hpp"

namespace orrery::kernels {

struct Backend {
    std::string_view kind;
    bool built = false;
    std::string_view missing;  ///< what to install for a build that has it; empty when built
    /// The text after "kind:", empty when there is none. Throws Error for a number out of range.
    std::unique_ptr<Device> (*open)(std::string_view detail) = nullptr;
};

Backend cpu_backend();
Backend cuda_backend();

/// world() of communicator.hpp for a device of this kind.
std::unique_ptr<Communicator> mpi_world(Device& device);
std::unique_ptr<Communicator> nccl_world(Device& device);

/// Ranks that mpirun or srun started together with this process, by the environment they set; 1 when started alone.
std::uint32_t launched_ranks();

}  // namespace orrery::kernels
