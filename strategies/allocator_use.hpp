// What PyTorch's allocator takes from the driver for a step's tensors, which is more than they are at once.
#pragma once

#include <cstdint>
#include <vector>

#include "strategies/step_program.hpp"

namespace orrery::strategies {

/// What an allocator has, and what is asked of it beside the program's buffers.
struct AllocatorTerms {
    std::uint64_t capacity = 0;    ///< bytes that the driver has for it
    std::uint64_t workspaces = 0;  ///< bytes of matrix products
    /// Of the bytes of the optimizer's states, tensors that the first update makes (optimizer_moments).
    std::vector<std::uint64_t> moments = {};
};

struct AllocatorUse {
    std::uint64_t allocated = 0;  ///< bytes in use at most, each tensor rounded up to what its block has
    std::uint64_t reserved = 0;   ///< bytes taken from the driver at most (torch.cuda.max_memory_reserved)
    std::uint32_t retries = 0;    ///< requests for which unused segments went back to the driver (num_alloc_retries)
    bool out_of_memory = false;   ///< although the step's tensors may fit

    [[nodiscard]] bool replayed() const { return reserved > 0 || out_of_memory; }
    bool operator==(const AllocatorUse&) const = default;
};

/// The role's step, replayed through the allocator (hardware::CachingAllocator) until another step takes no more from
/// the driver: every buffer is asked for with its first use and given back behind its last, what a layer keeps tensor
/// by tensor. The optimizer's moments come at the end of the first step, into blocks that activations have left; where
/// they stay, the next step's activations do not fit, and that is most of what is called fragmentation. One stream,
/// default settings; of a shortened program the rounds that are written alone.
AllocatorUse allocator_use(const StepProgram& step, std::uint32_t role, const AllocatorTerms& terms);

}  // namespace orrery::strategies
