// Transpose through a tile in shared memory: 16-byte reads along rows, 16-byte writes along columns.
#include "kernels/cuda/check.hpp"
#include "kernels/cuda/pointwise.hpp"
#include "kernels/cuda/transpose_tile.cuh"

namespace orrery::kernels::cuda {

namespace {

constexpr int threads = 256;

/// A tile is 128 bytes wide: 32 elements of four bytes or 64 of two. Its rows are 33 words apart, so that
///   writing: a warp's eight threads of a row hold words 4v + e, its four rows shift them by 0, 1, 2, 3: 32 banks;
///   reading: word (v * W + j) * 33 + c of output vector v: for four-byte elements 4v + c, 32 banks; for two-byte ones
///            8v + c/2, which meet in pairs (v and v + 4): two-way conflicts, far below the time of the memory.
/// R is the element as an integer: the values are only moved.
template <class R, int W>
__global__ void __launch_bounds__(threads) transpose(const R* x, R* y, std::uint64_t rows, std::uint64_t cols) {
    constexpr int side = 128 / sizeof(R), pitch = 132 / sizeof(R), vectors = side / W;
    __shared__ R tile[side * pitch];
    const std::uint64_t across = (cols + side - 1) / side, tiles = across * ((rows + side - 1) / side);
    for (std::uint64_t t = blockIdx.x; t < tiles; t += gridDim.x) {
        const std::uint64_t row = t / across * side, column = t % across * side;
        for (int i = threadIdx.x; i < side * vectors; i += threads) {
            const int r = i / vectors, c = i % vectors * W;
            if (row + r >= rows || column + c >= cols) continue;
            Vector<R, W> vector;
            vector.read(x + (row + r) * cols + column + c);
            const R* const elements = reinterpret_cast<const R*>(vector.raw);
#pragma unroll
            for (int e = 0; e < W; ++e) tile[r * pitch + c + e] = elements[e];
        }
        __syncthreads();
        write_columns<R, W, side, pitch>(tile, y, row, column, rows, cols);
        __syncthreads();
    }
}

template <class R>
void launch(const Place& place, const Pointwise& p, Operands o) {
    constexpr int side = 128 / sizeof(R), W = full_width<R>;
    const std::uint64_t tiles = ((p.rows + side - 1) / side) * ((p.cols + side - 1) / side);
    const unsigned blocks = place.blocks(tiles, 64);
    // Vectors along both: with both extents multiples of W, no vector leaves the matrix.
    if (p.rows % W == 0 && p.cols % W == 0)
        transpose<R, W><<<blocks, threads, 0, place.stream>>>(at<R>(o, 0), at<R>(o, 1), p.rows, p.cols);
    else
        transpose<R, 1><<<blocks, threads, 0, place.stream>>>(at<R>(o, 0), at<R>(o, 1), p.rows, p.cols);
    check_launch("transpose");
}

}  // namespace

void launch_transpose(const Place& place, const Pointwise& p, Operands o) {
    if (o.settings().narrow.cast) return launch_narrow_cast(place, p, o);
    if (o.settings().heads.columns != 0) return launch_head_copies(place, p, o);
    size_of(p.dtype) == 2 ? launch<std::uint16_t>(place, p, o) : launch<std::uint32_t>(place, p, o);
}

}  // namespace orrery::kernels::cuda
