// Products of tiles on the tensor cores, with tiles in shared memory and sums in registers.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>

#include "kernels/cuda/attention_fragment.hpp"
#include "kernels/cuda/instructions.cuh"
#include "kernels/dropout_mask.hpp"

namespace orrery::kernels::cuda {

inline constexpr int warps_per_block = 4, threads_per_block = 32 * warps_per_block;

/// Sums of a warp: MT x NT tiles of 16 x 8, in the layout of C.
template <int MT, int NT>
using Sums = float[MT][NT][4];

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

/// sums = A B^T over D columns, with A [16 MT, D] and B [8 NT, D] in shared memory.
template <class T, int D, int MT, int NT>
__device__ __forceinline__ void rows_by_rows(Sums<MT, NT>& sums, const T* a, const T* b, int lane) {
    constexpr int pitch = tile_pitch(D);
    static_assert(D % 16 == 0 && NT % 2 == 0);
    const std::uint32_t from_a = shared_address(a + left_row(lane).row * pitch + left_row(lane).col);
    const std::uint32_t from_b =
        shared_address(b + right_row_by_column(lane).row * pitch + right_row_by_column(lane).col);
#pragma unroll
    for (int m = 0; m < MT; ++m)
#pragma unroll
        for (int n = 0; n < NT; ++n)
#pragma unroll
            for (int i = 0; i < 4; ++i) sums[m][n][i] = 0.0f;
#pragma unroll
    for (int k = 0; k < D; k += 16) {
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
    constexpr int pitch = tile_pitch(D);
    static_assert(D % 16 == 0 && KT % 2 == 0);
    const std::uint32_t from_b =
        shared_address(b + right_row_by_depth(lane).row * pitch + right_row_by_depth(lane).col);
#pragma unroll
    for (int k = 0; k < KT; k += 2) {
        std::uint32_t left[MT][4];
#pragma unroll
        for (int m = 0; m < MT; ++m) {
            left[m][0] = pack<T>(p[m][k][0], p[m][k][1]);
            left[m][1] = pack<T>(p[m][k][2], p[m][k][3]);
            left[m][2] = pack<T>(p[m][k + 1][0], p[m][k + 1][1]);
            left[m][3] = pack<T>(p[m][k + 1][2], p[m][k + 1][3]);
        }
#pragma unroll
        for (int d = 0; d < D; d += 16) {
            std::uint32_t right[4];
            load_transposed(right, from_b + sizeof(T) * (8 * k * pitch + d));
#pragma unroll
            for (int m = 0; m < MT; ++m) {
                multiply<T>(sums[m][d / 8], left[m], right[0], right[1]);
                multiply<T>(sums[m][d / 8 + 1], left[m], right[2], right[3]);
            }
        }
    }
}

/// Where the dropout of one head's probabilities [seq, seq] begins among the model's. heads: of a sequence.
__device__ __forceinline__ std::uint64_t mask_of_head(const MaskNumbers& numbers, std::uint64_t batch,
                                                      std::uint32_t heads, std::uint32_t head, std::uint32_t seq) {
    return numbers.place((batch * heads + head) * seq * seq);
}

/// Rows [first, first + rows) of a head into a tile; rows from `seq` on become zero. stride: elements from one row of
/// the head to the next.
template <class T, int D, int rows>
__device__ __forceinline__ void load_tile(T* tile, const T* head, std::uint64_t stride, std::uint32_t first,
                                          std::uint32_t seq) {
    constexpr int chunks = D / 8, all = rows * chunks;  // of 16 bytes
#pragma unroll
    for (int i = 0; i < (all + threads_per_block - 1) / threads_per_block; ++i) {
        const int c = i * threads_per_block + static_cast<int>(threadIdx.x);
        if (all % threads_per_block != 0 && c >= all) break;
        const int row = c / chunks, col = c % chunks * 8;
        const bool there = first + row < seq;
        copy_async<16>(tile + row * tile_pitch(D) + col, head + (there ? (first + row) * stride + col : 0), there);
    }
}

/// A warp's sums, each row times scale(m, half), to rows [first, first + 16 MT) of a head, below seq. Goes through the
/// warp's own part of shared memory, where nothing is needed any more, so that 16 bytes are written at a time.
template <class T, int D, int MT, class Scale>
__device__ __forceinline__ void store_sums(const Sums<MT, D / 8>& sums, Scale scale, T* part, T* head,
                                           std::uint64_t stride, std::uint32_t first, std::uint32_t seq, int lane) {
    constexpr int pitch = tile_pitch(D), chunks = D / 8;
    __syncwarp();
#pragma unroll
    for (int m = 0; m < MT; ++m)
#pragma unroll
        for (int half = 0; half < 2; ++half) {
            const float by = scale(m, half);
            const Place16 at = result_at(lane, 2 * half);
#pragma unroll
            for (int n = 0; n < D / 8; ++n)
                *reinterpret_cast<std::uint32_t*>(part + (16 * m + at.row) * pitch + 8 * n + at.col) =
                    pack<T>(sums[m][n][2 * half] * by, sums[m][n][2 * half + 1] * by);
        }
    __syncwarp();
    for (int c = lane; c < 16 * MT * chunks; c += 32) {
        const int row = c / chunks, col = c % chunks * 8;
        if (first + row < seq)
            *reinterpret_cast<uint4*>(head + (first + row) * stride + col) =
                *reinterpret_cast<const uint4*>(part + row * pitch + col);
    }
}

}  // namespace orrery::kernels::cuda
