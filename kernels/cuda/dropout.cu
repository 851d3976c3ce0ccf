// Dropout by a mask of bytes, which its forward draws, alone and fused with bias and residual.
#include "kernels/cuda/map.cuh"
#include "kernels/cuda/pointwise.hpp"
#include "kernels/dropout_mask.hpp"

namespace orrery::kernels::cuda {

namespace {

/// The mask of W elements from number i on, to where it lies; four share a counter.
template <int W>
__device__ __forceinline__ void draw(const MaskNumbers& numbers, std::uint64_t i, std::uint8_t* mask, float (&m)[W]) {
    PhiloxWords words{};
    std::uint64_t drawn = ~std::uint64_t{0};
    const std::uint64_t first = numbers.place(i);
    const bool together = numbers.run % W == 0;  // no run ends between them
#pragma unroll
    for (int e = 0; e < W; ++e) {
        const std::uint64_t place = together ? first + e : numbers.place(i + e);
        if (place / 4 != drawn) {
            drawn = place / 4;
            words = numbers.four(drawn);
        }
        const bool stays = words.at(static_cast<std::uint32_t>(place % 4)) >= numbers.threshold;
        m[e] = stays ? numbers.kept : 0.0f;
        mask[i + e] = stays ? 1 : 0;
    }
}

template <class T, int W>
struct Dropout {
    const T* x;
    std::uint8_t* mask;
    T* y;
    MaskNumbers numbers;
    __device__ void operator()(std::uint64_t i) const {
        float v[W], m[W];
        load(x + i, v);
        draw(numbers, i, mask, m);
#pragma unroll
        for (int e = 0; e < W; ++e) v[e] *= m[e];
        store(y + i, v);
    }
};

/// Of both kernels.
template <class T, int W>
struct DropoutBackward {
    const T* dy;
    const std::uint8_t* mask;
    T* dx;
    float kept;
    __device__ void operator()(std::uint64_t i) const {
        float v[W], m[W];
        load(dy + i, v);
        load(mask + i, m);
#pragma unroll
        for (int e = 0; e < W; ++e) v[e] *= m[e] * kept;
        store(dx + i, v);
    }
};

template <class T, int W>
struct BiasDropoutAdd {
    const T *x, *bias, *residual;
    std::uint8_t* mask;
    T* y;
    MaskNumbers numbers;
    std::uint32_t cols;
    __device__ void operator()(std::uint64_t r, std::uint32_t c) const {
        float v[W], b[W], s[W], m[W];
        const std::uint64_t i = r * cols + c;
        load(x + i, v);
        load(residual + i, s);
        load(bias + c, b);
        draw(numbers, i, mask, m);
#pragma unroll
        for (int e = 0; e < W; ++e) v[e] = s[e] + (v[e] + b[e]) * m[e];
        store(y + i, v);
    }
};

template <class T>
void launch_bias_dropout_add(const Place& place, const Pointwise& p, Operands o, const MaskNumbers& numbers) {
    with_width<T>(p.cols, [&](auto width) {
        constexpr int W = width.value;
        const BiasDropoutAdd<T, W> f{at<T>(o, 0),
                                     at<T>(o, 1),
                                     at<T>(o, 2),
                                     at<std::uint8_t>(o, 3),
                                     at<T>(o, 4),
                                     numbers,
                                     static_cast<std::uint32_t>(p.cols)};
        map_rows<W>(place, f, p.rows, p.cols);
    });
}

}  // namespace

void launch_dropout(const Place& place, const Pointwise& p, Operands o) {
    const MaskNumbers numbers(o.settings().dropout.value_or(DropoutMask{}));
    const std::uint64_t n = p.rows * p.cols;
    with_element(p.dtype, [&](auto zero) {
        using T = decltype(zero);
        if (p.kind == PointwiseKind::bias_dropout_add) return launch_bias_dropout_add<T>(place, p, o, numbers);
        with_width<T>(n, [&](auto width) {
            constexpr int W = width.value;
            if (p.kind == PointwiseKind::dropout)
                map_flat<W>(place, Dropout<T, W>{at<T>(o, 0), at<std::uint8_t>(o, 1), at<T>(o, 2), numbers}, n);
            else
                map_flat<W>(place,
                            DropoutBackward<T, W>{at<T>(o, 0), at<std::uint8_t>(o, 1), at<T>(o, 2), numbers.kept}, n);
        });
    });
}

}  // namespace orrery::kernels::cuda
