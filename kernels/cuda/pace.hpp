// Kernels that compute nothing: one that waits for the host, and one that counts the core's clock.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

namespace orrery::kernels::cuda {

/// The stream goes on when *go, in pinned host memory, reaches `ticket`, or after a second.
void launch_wait_for_host(cudaStream_t stream, const std::uint32_t* go, std::uint32_t ticket);

struct CountedCycles {
    std::uint64_t cycles = 0, nanoseconds = 0;
};
/// Counts for 100 us. to: pinned host memory.
void launch_count_cycles(cudaStream_t stream, CountedCycles* to);

}  // namespace orrery::kernels::cuda
