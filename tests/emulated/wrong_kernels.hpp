// Kernels that each do one thing wrong: what the emulated GPU must see.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

namespace orrery::emulated::wrong {

enum class Mistake : std::uint8_t {
    none,
    missing_barrier,    ///< reads what a neighbour writes, without waiting for it
    divergent_barrier,  ///< half of a warp waits for the block, half for the warp
    ended_lanes,        ///< a shuffle with lanes that have ended
    other_lanes,        ///< lanes of a warp meet for different things
    shared_overrun,     ///< writes behind the launch's shared memory
    variable_overrun,   ///< writes behind a variable in shared memory
    global_overrun,     ///< writes a page behind the memory given
    copy_under_way,     ///< ends without waiting for its copies
    copy_not_awaited,   ///< reads what a copy brings, before it is waited for
    misaligned_copy,    ///< copies 16 bytes from an address that is no multiple of 16
    unrounded_operand,  ///< multiplies in tf32 what has more bits
};

inline constexpr int threads = 64;

/// to[i] = from[(i + 1) % threads] for each of `threads` elements, by one block; `bytes` of shared memory, of which
/// threads floats are used.
void launch_rotate(cudaStream_t stream, Mistake mistake, const float* from, float* to, std::size_t bytes);
/// As many threads as asked for, where __launch_bounds__ says 64.
void launch_bounded(cudaStream_t stream, unsigned count, float* to);

}  // namespace orrery::emulated::wrong
