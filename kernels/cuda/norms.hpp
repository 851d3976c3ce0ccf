// Shape of the launch of a norm's backward pass, which also decides its scratch.
#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/kernel.hpp"

namespace orrery::kernels::cuda {

inline constexpr int norm_backward_threads = 512;

/// Blocks that share the rows. One block of 512 threads fills a multiprocessor's registers; narrow rows have smaller
/// blocks, of which several fit.
inline unsigned norm_backward_blocks(const Pointwise& kernel, std::uint32_t multiprocessors) {
    const std::uint64_t per_multiprocessor = kernel.cols > 4096 ? 1 : kernel.cols > 1024 ? 2 : 4;
    return static_cast<unsigned>(std::min(kernel.rows, multiprocessors * per_multiprocessor));
}

/// Each block's share of the gradients of gamma and beta.
inline std::uint64_t norm_backward_scratch(const Pointwise& kernel, std::uint32_t multiprocessors) {
    return 2 * sizeof(float) * kernel.cols * norm_backward_blocks(kernel, multiprocessors);
}

}  // namespace orrery::kernels::cuda
