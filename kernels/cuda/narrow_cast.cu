// Casts to fp8 with one scale for the tensor, in both orders at once: products in fp8 read their operands along the
// depth alone, forward and backward along different sides. Through a tile in shared memory, as transposes go.
#include <cuda_fp8.h>

#include <cfloat>
#include <type_traits>

#include "kernels/cuda/check.hpp"
#include "kernels/cuda/pointwise.hpp"
#include "kernels/cuda/transpose_tile.cuh"

namespace orrery::kernels::cuda {

namespace {

constexpr int threads = 256, side = 64;
/// Words of four bytes from row to row are odd, so that a column's lie in different banks.
constexpr int pitch = side + 4;

/// The format's largest number over the tensor's: 1 where there is none, and finite (Transformer Engine,
/// compute_scale_from_amax).
__device__ __forceinline__ float scale_to(float most, float largest) {
    if (!(largest > 0.0f && largest < INFINITY)) return 1.0f;
    return fminf(most / largest, FLT_MAX);
}

/// Saturated, to nearest even.
template <__nv_fp8_interpretation_t format>
__device__ __forceinline__ std::uint8_t narrow(float x) {
    return __nv_cvt_float_to_fp8(x, __NV_SATFINITE, format);
}

template <class T, __nv_fp8_interpretation_t format, int W>
__global__ void __launch_bounds__(threads) cast(const T* x, const float* largest, std::uint8_t* y, std::uint8_t* t,
                                                float* inverse, std::uint64_t rows, std::uint64_t cols) {
    constexpr float most = format == __NV_E4M3 ? 448.0f : 57344.0f;
    constexpr int vectors = side / W;
    __shared__ std::uint8_t tile[side * pitch];
    const float scale = scale_to(most, *largest);
    if (blockIdx.x == 0 && threadIdx.x == 0) *inverse = 1.0f / scale;
    const std::uint64_t across = (cols + side - 1) / side, tiles = across * ((rows + side - 1) / side);
    for (std::uint64_t i = blockIdx.x; i < tiles; i += gridDim.x) {
        const std::uint64_t row = i / across * side, column = i % across * side;
        for (int v = threadIdx.x; v < side * vectors; v += threads) {
            const int r = v / vectors, c = v % vectors * W;
            if (row + r >= rows || column + c >= cols) continue;
            float values[W];
            load(x + (row + r) * cols + column + c, values);
            Vector<std::uint8_t, W> out;
            std::uint8_t* const bytes = reinterpret_cast<std::uint8_t*>(out.raw);
#pragma unroll
            for (int e = 0; e < W; ++e) tile[r * pitch + c + e] = bytes[e] = narrow<format>(values[e] * scale);
            out.write(y + (row + r) * cols + column + c);
        }
        __syncthreads();
        write_columns<std::uint8_t, W, side, pitch>(tile, t, row, column, rows, cols);
        __syncthreads();
    }
}

template <class T, __nv_fp8_interpretation_t format>
void launch(const Place& place, const Pointwise& p, Operands o) {
    const std::uint64_t tiles = ((p.rows + side - 1) / side) * ((p.cols + side - 1) / side);
    const auto run = [&](auto W) {
        cast<T, format, W.value><<<place.blocks(tiles, 16), threads, 0, place.stream>>>(
            at<T>(o, 0), at<float>(o, 1), at<std::uint8_t>(o, 2), at<std::uint8_t>(o, 3), at<float>(o, 4), p.rows,
            p.cols);
    };
    // Vectors along both sides, and none that leaves the matrix.
    p.rows % 8 == 0 && p.cols % 8 == 0 ? run(std::integral_constant<int, 8>{}) : run(std::integral_constant<int, 1>{});
    check_launch("cast to fp8");
}

}  // namespace

void launch_narrow_cast(const Place& place, const Pointwise& p, Operands o) {
    with_element(p.dtype, [&](auto zero) {
        using T = decltype(zero);
        o.settings().narrow.gradient ? launch<T, __NV_E5M2>(place, p, o) : launch<T, __NV_E4M3>(place, p, o);
    });
}

}  // namespace orrery::kernels::cuda
