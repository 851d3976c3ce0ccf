// A row spread over the threads of a block, and sums over the block.
#pragma once

#include "kernels/cuda/vector.cuh"

namespace orrery::kernels::cuda {

/// cols elements, in vectors of W: vector v belongs to thread v % threads, so that a warp's accesses are contiguous.
/// N > 0: the thread's vectors (at most N) are read once and stay in registers. N = 0: each pass reads them again.
template <class T, int W, int N>
class Row {
public:
    __device__ __forceinline__ Row(const T* row, std::uint32_t cols) : row_(row), cols_(cols) {
#pragma unroll
        for (int i = 0; i < N; ++i) {
            const std::uint32_t column = (i * blockDim.x + threadIdx.x) * W;
            if (column < cols) held_[i].read(row + column);
        }
    }

    /// f(column, values, i) for each of the thread's vectors; i counts them.
    template <class F>
    __device__ __forceinline__ void each(F f) const {
        float values[W];
        if constexpr (N > 0) {
#pragma unroll
            for (int i = 0; i < N; ++i) {
                const std::uint32_t column = (i * blockDim.x + threadIdx.x) * W;
                if (column < cols_) {
                    held_[i].unpack(values);
                    f(column, values, i);
                }
            }
        } else {
            for (std::uint32_t column = threadIdx.x * W; column < cols_; column += blockDim.x * W) {
                load(row_ + column, values);
                f(column, values, 0);
            }
        }
    }

    /// As each, over two rows of the same length at once: f(column, values, other's values, i).
    template <class F>
    __device__ __forceinline__ void each_with(const Row& other, F f) const {
        float values[W], others[W];
        if constexpr (N > 0) {
#pragma unroll
            for (int i = 0; i < N; ++i) {
                const std::uint32_t column = (i * blockDim.x + threadIdx.x) * W;
                if (column < cols_) {
                    held_[i].unpack(values);
                    other.held_[i].unpack(others);
                    f(column, values, others, i);
                }
            }
        } else {
            for (std::uint32_t column = threadIdx.x * W; column < cols_; column += blockDim.x * W) {
                load(row_ + column, values);
                load(other.row_ + column, others);
                f(column, values, others, 0);
            }
        }
    }

private:
    const T* row_;
    std::uint32_t cols_;
    Vector<T, W> held_[N > 0 ? N : 1];
};

__device__ __forceinline__ float warp_sum(float x) {
#pragma unroll
    for (int lane = 16; lane > 0; lane /= 2) x += __shfl_xor_sync(0xffffffffu, x, lane);
    return x;
}

__device__ __forceinline__ float warp_max(float x) {
#pragma unroll
    for (int lane = 16; lane > 0; lane /= 2) x = fmaxf(x, __shfl_xor_sync(0xffffffffu, x, lane));
    return x;
}

/// The sum of x (and of y) over the block, on every thread, in an order that depends on the block's size alone.
/// blockDim.x is a multiple of 32 and all threads call it.
__device__ __forceinline__ float2 block_sum(float x, float y) {
    __shared__ float2 of_warp[32];
    x = warp_sum(x);
    y = warp_sum(y);
    const unsigned lane = threadIdx.x % 32, warps = blockDim.x / 32;
    __syncthreads();  // of_warp may still be read from the call before
    if (lane == 0) of_warp[threadIdx.x / 32] = make_float2(x, y);
    __syncthreads();
    const float2 part = lane < warps ? of_warp[lane] : make_float2(0.0f, 0.0f);
    return make_float2(warp_sum(part.x), warp_sum(part.y));
}

__device__ __forceinline__ float block_sum(float x) { return block_sum(x, 0.0f).x; }

__device__ __forceinline__ float block_max(float x) {
    __shared__ float of_warp[32];
    x = warp_max(x);
    const unsigned lane = threadIdx.x % 32, warps = blockDim.x / 32;
    __syncthreads();
    if (lane == 0) of_warp[threadIdx.x / 32] = x;
    __syncthreads();
    return warp_max(lane < warps ? of_warp[lane] : -INFINITY);
}

/// How a row-wise kernel is launched for rows of cols elements: f(W, N, threads) with the first two as constants.
/// most_threads: the kernel's bound. Rows that are not aligned go element by element.
template <class T, int most_threads, class F>
void with_row_shape(std::uint64_t cols, F f) {
    constexpr int W = full_width<T>;
    const auto threads = [&](std::uint64_t per_thread) {
        const std::uint64_t needed = (cols + per_thread - 1) / per_thread;
        return static_cast<unsigned>(needed >= most_threads ? most_threads : (needed + 31) / 32 * 32);
    };
    using std::integral_constant;
    if (!rows_aligned<T>(cols))
        f(integral_constant<int, 1>{}, integral_constant<int, 0>{}, threads(1));
    else if (cols <= std::uint64_t{W} * most_threads)
        f(integral_constant<int, W>{}, integral_constant<int, 1>{}, threads(W));
    else if (cols <= std::uint64_t{4 * W} * most_threads)
        f(integral_constant<int, W>{}, integral_constant<int, 4>{}, threads(4 * W));
    else
        f(integral_constant<int, W>{}, integral_constant<int, 0>{}, most_threads);
}

}  // namespace orrery::kernels::cuda
