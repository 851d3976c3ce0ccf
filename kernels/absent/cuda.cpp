#include "base/error.hpp"
#include "kernels/backends.hpp"

namespace orrery::kernels {

Backend cuda_backend() { return {"cuda", false, "build where CMake finds the CUDA toolkit"}; }

std::unique_ptr<Communicator> nccl_world(Device&) {
    throw Error("this build has no NCCL", "build where CMake finds the CUDA toolkit and NCCL");
}

}  // namespace orrery::kernels
