#include "base/error.hpp"
#include "kernels/backends.hpp"

namespace orrery::kernels {

std::unique_ptr<Communicator> mpi_world(Device&) {
    throw Error("this build has no MPI: CPU ranks cannot communicate", "build where CMake finds MPI (libopenmpi-dev)");
}

}  // namespace orrery::kernels
