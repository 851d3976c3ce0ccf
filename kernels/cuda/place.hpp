// Where a kernel is launched: a stream of one GPU, its size, and scratch memory that only this stream uses.
#pragma once

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstdint>

namespace orrery::kernels::cuda {

struct Place {
    cudaStream_t stream = nullptr;
    std::uint32_t multiprocessors = 0;
    /// Device memory, aligned to 256 bytes. Reused by the next kernel of the stream: streams run in order.
    void* scratch = nullptr;

    /// Blocks for `work` blocks' worth of independent pieces when each block loops: enough for `per_multiprocessor`
    /// resident blocks everywhere, and never more than the work.
    [[nodiscard]] unsigned blocks(std::uint64_t work, unsigned per_multiprocessor) const {
        const std::uint64_t most = std::uint64_t{multiprocessors} * per_multiprocessor;
        return static_cast<unsigned>(std::max<std::uint64_t>(1, std::min(work, most)));
    }
};

/// Scratch of each stream: NVIDIA's advice for cuBLASLt on Hopper (cuBLAS documentation, cublasSetWorkspace: 32 MiB).
inline constexpr std::uint64_t least_scratch = 32u << 20;

}  // namespace orrery::kernels::cuda
