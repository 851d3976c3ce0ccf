// What a training process keeps on a GPU beside the tensors of its step: constants of the software around them.
#pragma once

#include <cstdint>

#include "hardware/host_time.hpp"

namespace orrery::hardware {

/// Bytes on one GPU; README.md has the origins.
struct FrameworkMemory {
    std::uint64_t workspaces = 0;     ///< of matrix products, in the framework's allocator
    std::uint64_t context = 0;        ///< CUDA's, with the code of kernels
    std::uint64_t communicators = 0;  ///< NCCL's buffers

    [[nodiscard]] std::uint64_t total() const { return workspaces + context + communicators; }
    bool operator==(const FrameworkMemory&) const = default;
};

/// compute_capability: CUDA's, 80 for 8.0; 0 for what is no NVIDIA GPU, where all is 0, as with Orrery's own runtime.
/// deterministic: torch.use_deterministic_algorithms. groups: of ranks, of each of which this GPU is a member and for
/// which it has a communicator.
FrameworkMemory framework_memory(Software software, int compute_capability, bool deterministic, std::uint32_t groups);

/// What DeepSpeed's ZeRO-1 and 2 of 2021 hold at a step's end beside gradients: one flat copy of a bucket of
/// gradients, and the list that PyTorch gathers new weights into. weights: bytes of a rank's 16-bit weights, all of
/// them. Both are larger than what was freed before, so that the caching allocator takes them beside it.
std::uint64_t deepspeed_buffers(std::uint64_t weights);

}  // namespace orrery::hardware
