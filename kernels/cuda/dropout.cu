// Dropout by a mask of bytes, alone and fused with bias and residual.
#include "kernels/cuda/map.cuh"
#include "kernels/cuda/pointwise.hpp"
#include "kernels/operands.hpp"

namespace orrery::kernels::cuda {

namespace {

constexpr auto kept = static_cast<float>(1.0 / keep_probability);

/// Forward and backward are the same map, and so is the backward of bias_dropout_add.
template <class T, int W>
struct Dropout {
    const T* x;
    const std::uint8_t* mask;
    T* y;
    __device__ void operator()(std::uint64_t i) const {
        float v[W], m[W];
        load(x + i, v);
        load(mask + i, m);
#pragma unroll
        for (int e = 0; e < W; ++e) v[e] *= m[e] * kept;
        store(y + i, v);
    }
};

template <class T, int W>
struct BiasDropoutAdd {
    const T *x, *bias, *residual;
    const std::uint8_t* mask;
    T* y;
    std::uint32_t cols;
    __device__ void operator()(std::uint64_t r, std::uint32_t c) const {
        float v[W], b[W], s[W], m[W];
        const std::uint64_t i = r * cols + c;
        load(x + i, v);
        load(residual + i, s);
        load(mask + i, m);
        load(bias + c, b);
#pragma unroll
        for (int e = 0; e < W; ++e) v[e] = s[e] + (v[e] + b[e]) * (m[e] * kept);
        store(y + i, v);
    }
};

}  // namespace

void launch_dropout(const Place& place, const Pointwise& p, Operands o) {
    with_element(p.dtype, [&](auto zero) {
        using T = decltype(zero);
        if (p.kind == PointwiseKind::bias_dropout_add) {
            with_width<T>(p.cols, [&](auto width) {
                constexpr int W = width.value;
                const BiasDropoutAdd<T, W> f{at<T>(o, 0), at<T>(o, 1),
                                             at<T>(o, 2), at<std::uint8_t>(o, 3),
                                             at<T>(o, 4), static_cast<std::uint32_t>(p.cols)};
                map_rows<W>(place, f, p.rows, p.cols);
            });
            return;
        }
        with_width<T>(p.rows * p.cols, [&](auto width) {
            constexpr int W = width.value;
            map_flat<W>(place, Dropout<T, W>{at<T>(o, 0), at<std::uint8_t>(o, 1), at<T>(o, 2)}, p.rows * p.cols);
        });
    });
}

}  // namespace orrery::kernels::cuda
