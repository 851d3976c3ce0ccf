#include "base/error.hpp"
#include "kernels/backends.hpp"
#include "kernels/cuda/nccl_communicator.hpp"
#include "kernels/processes.hpp"

namespace orrery::kernels {

namespace {
/// As PyTorch's default for NCCL process groups.
constexpr double timeout_seconds = 600;
}  // namespace

std::unique_ptr<Communicator> nccl_world(Device& device) {
    const auto started = processes(environment);
    auto* const gpu = dynamic_cast<cuda::CudaDevice*>(&device);
    if (!started || gpu == nullptr)
        throw Error("NCCL needs a GPU and ranks started by torchrun, srun or mpirun",
                    "these set the rank and the number of ranks in the environment");
    return std::make_unique<cuda::NcclCommunicator>(*gpu, connect_by_tcp(*started, timeout_seconds), timeout_seconds);
}

}  // namespace orrery::kernels
