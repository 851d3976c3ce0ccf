// How the rows of a column sum are split, which also decides its scratch.
#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/kernel.hpp"

namespace orrery::kernels::cuda {

/// Chunks of rows, each with its own sum: enough for eight blocks a multiprocessor where the columns alone give fewer,
/// and at least 64 rows each.
inline std::uint64_t column_chunks(const Pointwise& kernel, std::uint32_t multiprocessors) {
    const std::uint64_t tiles = std::max<std::uint64_t>(1, kernel.cols * size_of(kernel.dtype) / 512);
    const std::uint64_t wanted = std::max<std::uint64_t>(1, std::uint64_t{multiprocessors} * 8 / tiles);
    return std::clamp<std::uint64_t>((kernel.rows + 63) / 64, 1, std::min<std::uint64_t>(wanted, 65535));
}

inline std::uint64_t column_scratch(const Pointwise& kernel, std::uint32_t multiprocessors) {
    return column_chunks(kernel, multiprocessors) * kernel.cols * sizeof(float);
}

}  // namespace orrery::kernels::cuda
