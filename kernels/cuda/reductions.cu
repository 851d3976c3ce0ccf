// Sums down columns and over everything, in two stages whose order never changes.
#include "kernels/cuda/check.hpp"
#include "kernels/cuda/pointwise.hpp"
#include "kernels/cuda/reductions.hpp"
#include "kernels/cuda/row.cuh"

namespace orrery::kernels::cuda {

namespace {

constexpr int tile_threads = 32, tile_rows = 16;

/// Block (x, y) sums rows [y, y + 1) * rows_each of 32 W columns. Out is [gridDim.y, cols]; accumulate: added to it.
template <class In, class Out, int W>
__global__ void __launch_bounds__(tile_threads* tile_rows)
    columns(const In* in, Out* out, std::uint64_t rows, std::uint64_t rows_each, std::uint32_t cols, bool accumulate) {
    __shared__ float parts[tile_rows][tile_threads * W + 1];
    const std::uint64_t column = (std::uint64_t{blockIdx.x} * tile_threads + threadIdx.x) * W;
    const std::uint64_t begin = blockIdx.y * rows_each, end = begin + rows_each < rows ? begin + rows_each : rows;
    float sum[W] = {};
    if (column < cols) {
#pragma unroll 4
        for (std::uint64_t r = begin + threadIdx.y; r < end; r += tile_rows) {
            float values[W];
            load(in + r * cols + column, values);
#pragma unroll
            for (int e = 0; e < W; ++e) sum[e] += values[e];
        }
    }
#pragma unroll
    for (int e = 0; e < W; ++e) parts[threadIdx.y][threadIdx.x * W + e] = sum[e];
    __syncthreads();
    const unsigned thread = threadIdx.y * tile_threads + threadIdx.x;
    const std::uint64_t own = std::uint64_t{blockIdx.x} * tile_threads * W + thread;
    if (thread >= tile_threads * W || own >= cols) return;
    float total = 0.0f;
#pragma unroll
    for (int i = 0; i < tile_rows; ++i) total += parts[i][thread];
    Out* const result = out + blockIdx.y * std::uint64_t{cols} + own;
    *result = from_float<Out>(total + (accumulate ? to_float(*result) : 0.0f));
}

template <class In, class Out, int W>
void sum(const Place& place, const In* in, Out* out, std::uint64_t rows, std::uint64_t cols, std::uint64_t chunks,
         bool accumulate = false) {
    const std::uint64_t tiles = (cols + tile_threads * W - 1) / (tile_threads * W);
    columns<In, Out, W>
        <<<dim3(static_cast<unsigned>(tiles), static_cast<unsigned>(chunks)), dim3(tile_threads, tile_rows), 0,
           place.stream>>>(in, out, rows, (rows + chunks - 1) / chunks, static_cast<std::uint32_t>(cols), accumulate);
    check_launch("column sums");
}

/// What a number over all elements is made of: with() takes an element in, join() two parts.
struct SumOfSquares {
    static __device__ __forceinline__ float with(float so_far, float x) { return so_far + x * x; }
    static __device__ __forceinline__ float join(float a, float b) { return a + b; }
    static __device__ __forceinline__ float of_block(float x) { return block_sum(x); }
};
struct Largest {
    static __device__ __forceinline__ float with(float so_far, float x) { return fmaxf(so_far, fabsf(x)); }
    static __device__ __forceinline__ float join(float a, float b) { return fmaxf(a, b); }
    static __device__ __forceinline__ float of_block(float x) { return block_max(x); }
};

template <class Fold, class T, int W>
__global__ void __launch_bounds__(512) fold_elements(const T* x, float* parts, std::uint64_t elements) {
    const std::uint64_t stride = std::uint64_t{gridDim.x} * blockDim.x * W;
    float each[W] = {};
    for (std::uint64_t i = (std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x) * W; i < elements; i += stride) {
        float values[W];
        load(x + i, values);
#pragma unroll
        for (int e = 0; e < W; ++e) each[e] = Fold::with(each[e], values[e]);
    }
    float own = 0.0f;
#pragma unroll
    for (int e = 0; e < W; ++e) own = Fold::join(own, each[e]);
    const float part = Fold::of_block(own);
    if (threadIdx.x == 0) parts[blockIdx.x] = part;
}

template <class Fold>
__global__ void __launch_bounds__(1024) fold_parts(const float* parts, float* out, unsigned count, bool accumulate) {
    float own = 0.0f;
    for (unsigned i = threadIdx.x; i < count; i += blockDim.x) own = Fold::join(own, parts[i]);
    const float whole = Fold::of_block(own);
    if (threadIdx.x == 0) *out = Fold::join(whole, accumulate ? *out : 0.0f);
}

}  // namespace

void sum_columns(const Place& place, const float* values, std::uint64_t rows, std::uint64_t cols, Dtype format,
                 void* out, bool accumulate) {
    with_element(format, [&](auto zero) {
        using T = decltype(zero);
        sum<float, T, 1>(place, values, static_cast<T*>(out), rows, cols, 1, accumulate);
    });
}

void launch_bias_gradient(const Place& place, const Pointwise& p, Operands o) {
    const std::uint64_t chunks = column_chunks(p, place.multiprocessors);
    auto* const parts = static_cast<float*>(place.scratch);
    with_element(p.dtype, [&](auto zero) {
        using T = decltype(zero);
        if (rows_aligned<T>(p.cols))
            sum<T, float, full_width<T>>(place, at<T>(o, 0), parts, p.rows, p.cols, chunks);
        else
            sum<T, float, 1>(place, at<T>(o, 0), parts, p.rows, p.cols, chunks);
        sum_columns(place, parts, chunks, p.cols, o.settings().result.value_or(p.dtype), o[1], o.settings().accumulate);
    });
}

void launch_sum_of_squares(const Place& place, const Pointwise& p, Operands o) {
    const std::uint64_t n = p.rows * p.cols;
    auto* const parts = static_cast<float*>(place.scratch);
    const auto run = [&](auto fold, auto zero, auto W) {
        using Fold = decltype(fold);
        using T = decltype(zero);
        const std::uint64_t per_block = std::uint64_t{512} * W.value;
        const unsigned blocks = place.blocks((n + per_block - 1) / per_block, 4);
        fold_elements<Fold, T, W.value><<<blocks, 512, 0, place.stream>>>(at<T>(o, 0), parts, n);
        fold_parts<Fold><<<1, 1024, 0, place.stream>>>(parts, at<float>(o, 1), blocks, o.settings().accumulate);
    };
    with_element(p.dtype, [&](auto zero) {
        using T = decltype(zero);
        const auto run_by_width = [&](auto fold) {
            rows_aligned<T>(n) ? run(fold, zero, std::integral_constant<int, full_width<T>>{})
                               : run(fold, zero, std::integral_constant<int, 1>{});
        };
        o.settings().narrow.largest ? run_by_width(Largest{}) : run_by_width(SumOfSquares{});
    });
    check_launch("sum of squares");
}

}  // namespace orrery::kernels::cuda
