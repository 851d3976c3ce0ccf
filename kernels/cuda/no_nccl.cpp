// A build with CUDA that found no NCCL.
#include "base/error.hpp"
#include "kernels/backends.hpp"

namespace orrery::kernels {

std::unique_ptr<Communicator> nccl_world(Device&) {
    throw Error("this build has no NCCL", "build where CMake finds nccl.h and libnccl (NVIDIA's package or wheel)");
}

}  // namespace orrery::kernels
