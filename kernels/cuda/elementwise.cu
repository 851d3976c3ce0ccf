// add, scale, cast and fill.
#include "kernels/cuda/map.cuh"
#include "kernels/cuda/pointwise.hpp"
#include "kernels/operands.hpp"

namespace orrery::kernels::cuda {

namespace {

template <class T, int W>
struct Add {
    const T *a, *b;
    T* c;
    __device__ void operator()(std::uint64_t i) const {
        float x[W], y[W];
        load(a + i, x);
        load(b + i, y);
#pragma unroll
        for (int e = 0; e < W; ++e) x[e] += y[e];
        store(c + i, x);
    }
};

template <class T, int W>
struct Scale {
    const T* a;
    T* b;
    float factor;
    __device__ void operator()(std::uint64_t i) const {
        float x[W];
        load(a + i, x);
#pragma unroll
        for (int e = 0; e < W; ++e) x[e] *= factor;
        store(b + i, x);
    }
};

template <class T, int W>
struct Cast {
    const T* x;
    float* y;
    __device__ void operator()(std::uint64_t i) const {
        float values[W];
        load(x + i, values);
        store(y + i, values);
    }
};

}  // namespace

void launch_elementwise(const Place& place, const Pointwise& p, Operands o) {
    const std::uint64_t n = p.rows * p.cols;
    if (p.kind == PointwiseKind::fill) {  // 0 in every format is all bits zero
        check(cudaMemsetAsync(o[0], 0, n * size_of(p.dtype), place.stream), "clearing memory");
        return;
    }
    with_element(p.dtype, [&](auto zero) {
        using T = decltype(zero);
        with_width<T>(n, [&](auto width) {
            constexpr int W = width.value;
            if (p.kind == PointwiseKind::add)
                map_flat<W>(place, Add<T, W>{at<T>(o, 0), at<T>(o, 1), at<T>(o, 2)}, n);
            else if (p.kind == PointwiseKind::scale)
                map_flat<W>(place, Scale<T, W>{at<T>(o, 0), at<T>(o, 1), static_cast<float>(o.settings().scale_factor)},
                            n);
            else
                map_flat<W>(place, Cast<T, W>{at<T>(o, 0), at<float>(o, 1)}, n);
        });
    });
}

}  // namespace orrery::kernels::cuda
