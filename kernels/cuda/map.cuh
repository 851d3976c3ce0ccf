// Kernels without sums: one function applied to every vector of a tensor.
#pragma once

#include <algorithm>
#include <type_traits>

#include "kernels/cuda/check.hpp"
#include "kernels/cuda/place.hpp"
#include "kernels/cuda/vector.cuh"

namespace orrery::kernels::cuda {

inline constexpr int map_threads = 256;
/// Resident blocks of 256 threads that a multiprocessor can hold when a thread needs at most 32 registers.
inline constexpr int map_blocks = 8;

/// f(i) for each i = 0, W, 2W, ... below elements.
template <int W, class F>
__global__ void __launch_bounds__(map_threads) map_flat_kernel(F f, std::uint64_t elements) {
    const std::uint64_t stride = std::uint64_t{gridDim.x} * map_threads * W;
    for (std::uint64_t i = (std::uint64_t{blockIdx.x} * map_threads + threadIdx.x) * W; i < elements; i += stride) f(i);
}

/// f(row, column) for each row and each column = 0, W, 2W, ... A thread keeps its column and goes down the rows.
template <int W, class F>
__global__ void __launch_bounds__(map_threads) map_rows_kernel(F f, std::uint64_t rows, std::uint32_t cols) {
    const std::uint64_t column = (std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x) * W;
    if (column >= cols) return;
    for (std::uint64_t r = std::uint64_t{blockIdx.y} * blockDim.y + threadIdx.y; r < rows;
         r += std::uint64_t{gridDim.y} * blockDim.y)
        f(r, static_cast<std::uint32_t>(column));
}

template <int W, class F>
void map_flat(const Place& place, F f, std::uint64_t elements) {
    const std::uint64_t per_block = std::uint64_t{map_threads} * W;
    const unsigned blocks = place.blocks((elements + per_block - 1) / per_block, 4 * map_blocks);
    map_flat_kernel<W><<<blocks, map_threads, 0, place.stream>>>(f, elements);
    check_launch("an elementwise kernel");
}

template <int W, class F>
void map_rows(const Place& place, F f, std::uint64_t rows, std::uint64_t cols) {
    const std::uint64_t vectors = (cols + W - 1) / W;
    unsigned across = 1;
    while (across < map_threads && across < vectors) across *= 2;
    const unsigned down = map_threads / across;
    const std::uint64_t tiles = (vectors + across - 1) / across;
    const std::uint64_t wanted = std::max<std::uint64_t>(1, place.blocks(~0ull, 4 * map_blocks) / tiles);
    const std::uint64_t high = std::min<std::uint64_t>({(rows + down - 1) / down, wanted, 65535});
    map_rows_kernel<W>
        <<<dim3(static_cast<unsigned>(tiles), static_cast<unsigned>(high)), dim3(across, down), 0, place.stream>>>(
            f, rows, static_cast<std::uint32_t>(cols));
    check_launch("a row-wise kernel");
}

/// f(W) with W a constant: as many elements as 16 bytes of T hold when `extent` is a multiple of that, else 1.
template <class T, class F>
void with_width(std::uint64_t extent, F f) {
    if (rows_aligned<T>(extent))
        f(std::integral_constant<int, full_width<T>>{});
    else
        f(std::integral_constant<int, 1>{});
}

}  // namespace orrery::kernels::cuda
