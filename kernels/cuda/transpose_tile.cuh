// A tile in shared memory that leaves by its columns.
#pragma once

#include "kernels/cuda/vector.cuh"

namespace orrery::kernels::cuda {

/// The tile [side, side] from `row` and `column` of a matrix [rows, cols] on, into its transpose y [cols, rows], W
/// elements at a time. R is the element as an integer: the values are only moved. By all threads of a block.
template <class R, int W, int side, int pitch>
__device__ __forceinline__ void write_columns(const R* tile, R* y, std::uint64_t row, std::uint64_t column,
                                              std::uint64_t rows, std::uint64_t cols) {
    constexpr int vectors = side / W;
    for (int i = threadIdx.x; i < side * vectors; i += blockDim.x) {
        const int c = i / vectors, r = i % vectors * W;
        if (row + r >= rows || column + c >= cols) continue;
        Vector<R, W> vector;
        R* const elements = reinterpret_cast<R*>(vector.raw);
#pragma unroll
        for (int e = 0; e < W; ++e) elements[e] = tile[(r + e) * pitch + c];
        vector.write(y + (column + c) * rows + row + r);
    }
}

}  // namespace orrery::kernels::cuda
