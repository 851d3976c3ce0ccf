// Products of tiles on the tensor cores, with tiles in shared memory and sums in registers. T: __half, __nv_bfloat16,
// or float, which is taken as tf32: a tile is rounded where it lies (round_tile), and sums as they become operands.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>
#include <type_traits>

#include "kernels/cuda/attention_fragment.hpp"
#include "kernels/cuda/instructions.cuh"
#include "kernels/cuda/vector.cuh"

namespace orrery::kernels::cuda {

inline constexpr int warps_per_block = 4, threads_per_block = 32 * warps_per_block;

template <class T>
inline constexpr bool is_tf32 = std::is_same_v<T, float>;

/// Sums of a warp: MT x NT tiles of 16 x 8, in the layout of C.
template <int MT, int NT>
using Sums = float[MT][NT][4];

/// Calls each(m, n, first) for every tile of a warp's sums; `first` is its first place among the warp's.
template <int MT, int NT, class Each>
__device__ __forceinline__ void each_tile(const Each& each) {
#pragma unroll
    for (int m = 0; m < MT; ++m)
#pragma unroll
        for (int n = 0; n < NT; ++n) each(m, n, Place16{16 * m, 8 * n});
}

/// Calls each(m, n, i, at) for every sum [m][n][i] that the thread holds; `at` is its place among the warp's.
template <int MT, int NT, class Each>
__device__ __forceinline__ void each_sum(int lane, const Each& each) {
    each_tile<MT, NT>([&](int m, int n, Place16 first) {
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            const Place16 at = result_at(lane, i);
            each(m, n, i, Place16{first.row + at.row, first.col + at.col});
        }
    });
}

template <class T>
__device__ __forceinline__ std::uint32_t pack(float low, float high) {
    if constexpr (std::is_same_v<T, __half>) {
        const __half2 pair = __floats2half2_rn(low, high);
        return reinterpret_cast<const std::uint32_t&>(pair);
    } else {
        const __nv_bfloat162 pair = __floats2bfloat162_rn(low, high);
        return reinterpret_cast<const std::uint32_t&>(pair);
    }
}

/// Two elements that lie side by side.
template <class T>
__device__ __forceinline__ void write_pair(T* to, float low, float high) {
    if constexpr (is_tf32<T>)
        *reinterpret_cast<float2*>(to) = make_float2(low, high);
    else
        *reinterpret_cast<std::uint32_t*>(to) = pack<T>(low, high);
}

/// Tiles of C from p on, rounded to T, as one left operand: two side by side in 16 bits, one in tf32.
template <class T>
__device__ __forceinline__ void results_as_left(std::uint32_t (&left)[4], const float (*p)[4]) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
        if constexpr (is_tf32<T>)
            left[i] = round_to_tf32(p[0][result_of_left(i)]);
        else
            left[i] = pack<T>(p[i / 2][i % 2 * 2], p[i / 2][i % 2 * 2 + 1]);
    }
}

/// Two right operands side by side, from a tile [.., D] in shared memory that holds them as they are. from: the lane's
/// place in the tile's first two; offset: elements from there to these.
template <class T, int D>
__device__ __forceinline__ void load_right(std::uint32_t (&right)[4], const T* from, int offset) {
    if constexpr (is_tf32<T>) {
#pragma unroll
        for (int i = 0; i < 4; ++i) right[i] = __float_as_uint(from[offset + i % 2 * tile_pitch<T>(D) + i / 2 * 8]);
    } else {
        load_transposed(right, shared_address(from) + sizeof(T) * offset);
    }
}

/// sums = A B^T over D columns, with A [16 MT, D] and B [8 NT, D] in shared memory.
template <class T, int D, int MT, int NT>
__device__ __forceinline__ void rows_by_rows(Sums<MT, NT>& sums, const T* a, const T* b, int lane) {
    constexpr int pitch = tile_pitch<T>(D), depth = product_depth<T>;
    static_assert(D % depth == 0 && NT % 2 == 0);
    const Place16 at_a = left_row<T>(lane), at_b = right_row_by_column<T>(lane);
    const std::uint32_t from_a = shared_address(a + at_a.row * pitch + at_a.col);
    const std::uint32_t from_b = shared_address(b + at_b.row * pitch + at_b.col);
    each_sum<MT, NT>(lane, [&](int m, int n, int i, Place16) { sums[m][n][i] = 0.0f; });
#pragma unroll
    for (int k = 0; k < D; k += depth) {
        std::uint32_t left[MT][4];
#pragma unroll
        for (int m = 0; m < MT; ++m) load_matrices(left[m], from_a + sizeof(T) * (16 * m * pitch + k));
#pragma unroll
        for (int n = 0; n < NT; n += 2) {
            std::uint32_t right[4];
            load_matrices(right, from_b + sizeof(T) * (8 * n * pitch + k));
#pragma unroll
            for (int m = 0; m < MT; ++m) {
                multiply<T>(sums[m][n], left[m], right[0], right[1]);
                multiply<T>(sums[m][n + 1], left[m], right[2], right[3]);
            }
        }
    }
}

/// sums += P B, with P [16 MT, 8 KT] in registers, rounded to T here, and B [8 KT, D] in shared memory.
template <class T, int D, int MT, int KT>
__device__ __forceinline__ void registers_by_columns(Sums<MT, D / 8>& sums, const Sums<MT, KT>& p, const T* b,
                                                     int lane) {
    constexpr int pitch = tile_pitch<T>(D), tiles = product_depth<T> / 8;
    static_assert(D % 16 == 0 && KT % tiles == 0);
    const Place16 at = is_tf32<T> ? right_single(lane) : right_row_by_depth(lane);
    const T* const from_b = b + at.row * pitch + at.col;
#pragma unroll
    for (int k = 0; k < KT; k += tiles) {
        std::uint32_t left[MT][4];
#pragma unroll
        for (int m = 0; m < MT; ++m) results_as_left<T>(left[m], &p[m][k]);
#pragma unroll
        for (int d = 0; d < D; d += 16) {
            std::uint32_t right[4];
            load_right<T, D>(right, from_b, 8 * k * pitch + d);
#pragma unroll
            for (int m = 0; m < MT; ++m) {
                multiply<T>(sums[m][d / 8], left[m], right[0], right[1]);
                multiply<T>(sums[m][d / 8 + 1], left[m], right[2], right[3]);
            }
        }
    }
}

/// Calls each(row, column) for the vectors of 16 bytes of a tile [rows, D] that are this thread's to copy.
template <class T, int D, int rows, class Each>
__device__ __forceinline__ void each_own_vector(const Each& each) {
    constexpr int width = matrix_columns<T>, vectors = D / width, all = rows * vectors;
#pragma unroll
    for (int i = 0; i < (all + threads_per_block - 1) / threads_per_block; ++i) {
        const int v = i * threads_per_block + static_cast<int>(threadIdx.x);
        if (all % threads_per_block != 0 && v >= all) break;
        each(v / vectors, v % vectors * width);
    }
}

/// Rows [first, first + rows) of a head into a tile; rows from `seq` on become zero. stride: elements from one row of
/// the head to the next.
template <class T, int D, int rows>
__device__ __forceinline__ void load_tile(T* tile, const T* head, std::uint64_t stride, std::uint32_t first,
                                          std::uint32_t seq) {
    each_own_vector<T, D, rows>([&](int row, int col) {
        const bool there = first + row < seq;
        copy_async<16>(tile + row * tile_pitch<T>(D) + col, head + (there ? (first + row) * stride + col : 0), there);
    });
}

/// What this thread's copies brought of a tile, rounded to tf32: behind the wait for them, before the block's barrier,
/// so that each element is rounded once, and not in every warp that reads it. Nothing to do in 16 bits.
template <class T, int D, int rows>
__device__ __forceinline__ void round_tile(T* tile) {
    if constexpr (is_tf32<T>)
        each_own_vector<T, D, rows>([&](int row, int col) {
            float* const vector = tile + row * tile_pitch<T>(D) + col;
            float values[matrix_columns<T>];
            load(vector, values);
#pragma unroll
            for (float& value : values) value = __uint_as_float(round_to_tf32(value));
            store(vector, values);
        });
}

/// A warp's sums, each row times scale(m, half), to rows [first, first + 16 MT) of a head, below seq. Goes through the
/// warp's own part of shared memory, where nothing is needed any more, so that 16 bytes are written at a time.
template <class T, int D, int MT, class Scale>
__device__ __forceinline__ void store_sums(const Sums<MT, D / 8>& sums, Scale scale, T* part, T* head,
                                           std::uint64_t stride, std::uint32_t first, std::uint32_t seq, int lane) {
    constexpr int pitch = tile_pitch<T>(D), width = matrix_columns<T>, vectors = D / width;
    __syncwarp();
#pragma unroll
    for (int m = 0; m < MT; ++m)
#pragma unroll
        for (int half = 0; half < 2; ++half) {
            const float by = scale(m, half);
            const Place16 at = result_at(lane, 2 * half);
#pragma unroll
            for (int n = 0; n < D / 8; ++n)
                write_pair(part + (16 * m + at.row) * pitch + 8 * n + at.col, sums[m][n][2 * half] * by,
                           sums[m][n][2 * half + 1] * by);
        }
    __syncwarp();
    for (int v = lane; v < 16 * MT * vectors; v += 32) {
        const int row = v / vectors, col = v % vectors * width;
        if (first + row < seq)
            *reinterpret_cast<uint4*>(head + (first + row) * stride + col) =
                *reinterpret_cast<const uint4*>(part + row * pitch + col);
    }
}

}  // namespace orrery::kernels::cuda
