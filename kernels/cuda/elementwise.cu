// add, scale, cast and fill.
#include "kernels/cuda/map.cuh"
#include "kernels/cuda/pointwise.hpp"
#include "kernels/cuda/step_update.hpp"
#include "kernels/operands.hpp"

namespace orrery::kernels::cuda {

namespace {

/// c = a + b, of which a and c are sums that outlive b.
template <class S, class T, int W>
struct Add {
    const S* a;
    const T* b;
    S* c;
    __device__ void operator()(std::uint64_t i) const {
        float x[W], y[W];
        load(a + i, x);
        load(b + i, y);
#pragma unroll
        for (int e = 0; e < W; ++e) x[e] += y[e];
        store(c + i, x);
    }
};

/// As the host knows it, or as it lies in memory when the kernel runs.
struct Factor {
    float given;
    const float* live;
    Factor(const Settings& settings, double otherwise)
        : given(static_cast<float>(settings.scale_factor.value_or(otherwise))), live(settings.live_factor) {
        if (settings.live_update.values != nullptr) live = &settings.live_update.values->factor;
    }
    __device__ __forceinline__ float now() const { return live == nullptr ? given : *live; }
};

template <class T, int W>
struct Scale {
    const T* a;
    T* b;
    Factor factor;
    __device__ void operator()(std::uint64_t i) const {
        const float by = factor.now();
        float x[W];
        load(a + i, x);
#pragma unroll
        for (int e = 0; e < W; ++e) x[e] *= by;
        store(b + i, x);
    }
};

template <class From, class To, int W>
struct Cast {
    const From* x;
    To* y;
    Factor factor;
    __device__ void operator()(std::uint64_t i) const {
        const float by = factor.now();
        float values[W];
        load(x + i, values);
#pragma unroll
        for (int e = 0; e < W; ++e) values[e] *= by;
        store(y + i, values);
    }
};

template <class T, int W>
void launch_cast(const Place& place, const Pointwise& p, Operands o) {
    const std::uint64_t n = p.rows * p.cols;
    const Factor factor(o.settings(), 1.0);
    if (o.settings().result == p.dtype)
        map_flat<W>(place, Cast<float, T, W>{at<float>(o, 0), at<T>(o, 1), factor}, n);
    else
        map_flat<W>(place, Cast<T, float, W>{at<T>(o, 0), at<float>(o, 1), factor}, n);
}

}  // namespace

void launch_elementwise(const Place& place, const Pointwise& p, Operands o) {
    const std::uint64_t n = p.rows * p.cols;
    if (p.kind == PointwiseKind::fill) {  // 0 in every format is all bits zero
        check(cudaMemsetAsync(o[0], 0, n * size_of(p.dtype), place.stream), "clearing memory");
        return;
    }
    if (o.settings().live_update.values != nullptr) launch_form_factor(place, o.settings());
    const Factor factor(o.settings(), scale_factor);
    with_element(p.dtype, [&](auto zero) {
        using T = decltype(zero);
        with_width<T>(n, [&](auto width) {
            constexpr int W = width.value;
            if (p.kind == PointwiseKind::add)
                with_result<T>(o.settings(), [&](auto sum) {
                    using S = decltype(sum);
                    map_flat<W>(place, Add<S, T, W>{at<S>(o, 0), at<T>(o, 1), at<S>(o, 2)}, n);
                });
            else if (p.kind == PointwiseKind::scale)
                map_flat<W>(place, Scale<T, W>{at<T>(o, 0), at<T>(o, 1), factor}, n);
            else
                launch_cast<T, W>(place, p, o);
        });
    });
}

}  // namespace orrery::kernels::cuda
