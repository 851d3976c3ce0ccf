// Cross entropy over one rank's part of a vocabulary: its largest logit, its exponentials and their sum, its gradient.
// A target below 0 or beyond the classes belongs to another rank.
#include "kernels/cuda/check.hpp"
#include "kernels/cuda/map.cuh"
#include "kernels/cuda/pointwise.hpp"
#include "kernels/cuda/row.cuh"

namespace orrery::kernels::cuda {

namespace {

struct Extent {
    std::uint64_t rows;
    std::uint32_t cols, classes;
};

/// -INFINITY where a part is padding alone.
template <class T, int W>
__global__ void __launch_bounds__(1024) maximum(const T* logits, float* out, Extent e) {
    for (std::uint64_t r = blockIdx.x; r < e.rows; r += gridDim.x) {
        const Row<T, W, 0> row(logits + r * e.cols, e.cols);
        float largest = -INFINITY;
        row.each([&](std::uint32_t column, const float(&values)[W], int) {
#pragma unroll
            for (int i = 0; i < W; ++i)
                if (column + i < e.classes) largest = fmaxf(largest, values[i]);
        });
        largest = block_max(largest);
        if (threadIdx.x == 0) out[r] = largest;
    }
}

/// Exponentials may lie where the logits were.
template <class T, int W>
__global__ void __launch_bounds__(1024) part(const T* logits, const float* largest, const std::int32_t* target,
                                             T* exponentials, float* sum, float* picked, Extent e) {
    for (std::uint64_t r = blockIdx.x; r < e.rows; r += gridDim.x) {
        const T* const own = logits + r * e.cols;
        if (threadIdx.x == 0)
            picked[r] = static_cast<std::uint32_t>(target[r]) < e.classes ? to_float(own[target[r]]) : 0;
        __syncthreads();  // before another thread writes there
        const Row<T, W, 0> row(own, e.cols);
        const float offset = largest[r];
        float total = 0.0f;
        row.each([&](std::uint32_t column, const float(&values)[W], int) {
            float out[W];
#pragma unroll
            for (int i = 0; i < W; ++i) {
                out[i] = column + i < e.classes ? __expf(values[i] - offset) : 0.0f;
                total += out[i];
            }
            store(exponentials + r * e.cols + column, out);
        });
        total = block_sum(total);
        if (threadIdx.x == 0) sum[r] = total;
    }
}

template <class T, int W>
struct Backward {
    const T* exponentials;
    const float* sum;
    const std::int32_t* target;
    T* dlogits;
    Extent extent;
    float inverse_rows;
    __device__ void operator()(std::uint64_t r, std::uint32_t c) const {
        float p[W];
        load(exponentials + r * extent.cols + c, p);
        const float share = 1.0f / sum[r];
        const std::uint32_t hit = static_cast<std::uint32_t>(target[r]);
#pragma unroll
        for (std::uint32_t e = 0; e < W; ++e)
            p[e] = c + e < extent.classes ? (p[e] * share - (c + e == hit ? 1.0f : 0.0f)) * inverse_rows : 0.0f;
        store(dlogits + r * extent.cols + c, p);
    }
};

template <class T, int W>
void launch(const Place& place, const Pointwise& p, const Operands& o) {
    const Extent extent{p.rows, static_cast<std::uint32_t>(p.cols),
                        static_cast<std::uint32_t>(std::min(p.cols, o.settings().classes))};
    const auto threads = static_cast<unsigned>(std::clamp<std::uint64_t>((p.cols / W + 31) / 32 * 32, 32, 1024));
    const unsigned blocks = place.blocks(p.rows, 64);
    if (p.kind == PointwiseKind::cross_entropy_maximum) {
        maximum<T, W><<<blocks, threads, 0, place.stream>>>(at<T>(o, 0), at<float>(o, 1), extent);
    } else if (p.kind == PointwiseKind::cross_entropy_part) {
        part<T, W><<<blocks, threads, 0, place.stream>>>(at<T>(o, 0), at<float>(o, 1), at<std::int32_t>(o, 2),
                                                         at<T>(o, 3), at<float>(o, 4), at<float>(o, 5), extent);
    } else {
        const auto inverse = static_cast<float>(1.0 / static_cast<double>(p.rows));
        const Backward<T, W> f{at<T>(o, 0), at<float>(o, 1), at<std::int32_t>(o, 2), at<T>(o, 3), extent, inverse};
        map_rows<W>(place, f, p.rows, p.cols);
    }
    check_launch("cross entropy over a part");
}

}  // namespace

void launch_cross_entropy_part(const Place& place, const Pointwise& p, Operands o) {
    with_element(p.dtype, [&](auto zero) {
        using T = decltype(zero);
        with_width<T>(p.cols, [&](auto width) { launch<T, width.value>(place, p, o); });
    });
}

}  // namespace orrery::kernels::cuda
