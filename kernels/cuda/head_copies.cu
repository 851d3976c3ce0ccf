// Heads of attention change places with tokens, where its products are kernels of their own.
#include <numeric>

#include "kernels/cuda/map.cuh"
#include "kernels/cuda/pointwise.hpp"

namespace orrery::kernels::cuda {

namespace {

/// Where elements lie on both sides: in rows of tokens, heads beside each other, and as matrices [tokens, columns].
struct HeadPlaces {
    std::uint64_t tokens, columns, heads, shared, stride;
    /// i: an element of [rows, heads columns]. member: which of the heads that are summed.
    __device__ __forceinline__ std::uint64_t in_matrices(std::uint64_t i, std::uint64_t member) const {
        const std::uint64_t row = i / (heads * columns), head = i / columns % heads;
        const std::uint64_t matrix = (row / tokens * heads + head) * shared + member;
        return (matrix * tokens + row % tokens) * columns + i % columns;
    }
    __device__ __forceinline__ std::uint64_t in_rows(std::uint64_t i) const {
        return i / (heads * columns) * stride + i % (heads * columns);
    }
};

template <class T, int W>
struct Join {
    const T* x;
    T* y;
    HeadPlaces places;
    __device__ void operator()(std::uint64_t i) const {
        float sum[W], next[W];
        load(x + places.in_matrices(i, 0), sum);
        for (std::uint64_t member = 1; member < places.shared; ++member) {
            load(x + places.in_matrices(i, member), next);
#pragma unroll
            for (int e = 0; e < W; ++e) sum[e] += next[e];
        }
        store(y + places.in_rows(i), sum);
    }
};

template <class T, int W>
struct Split {
    const T* x;
    T* y;
    HeadPlaces places;
    __device__ void operator()(std::uint64_t i) const {
        float values[W];
        load(x + i, values);
        store(y + places.in_matrices(i, 0), values);
    }
};

}  // namespace

void launch_head_copies(const Place& place, const Pointwise& p, Operands o) {
    const HeadMatrices& h = o.settings().heads;
    const std::uint64_t stride = o.settings().row_stride != 0 ? o.settings().row_stride : p.cols;
    const HeadPlaces places{h.tokens, h.columns, p.cols / h.columns, h.shared, stride};
    with_element(p.dtype, [&](auto zero) {
        using T = decltype(zero);
        with_width<T>(std::gcd(h.columns, stride), [&](auto width) {
            constexpr int W = width.value;
            if (h.joined)
                map_flat<W>(place, Join<T, W>{at<T>(o, 0), at<T>(o, 1), places}, p.rows * p.cols);
            else
                map_flat<W>(place, Split<T, W>{at<T>(o, 0), at<T>(o, 1), places}, p.rows * p.cols);
        });
    });
}

}  // namespace orrery::kernels::cuda
