// Cross entropy over a vocabulary: probabilities and loss from logits, and the gradient, also at once.
#include "kernels/cuda/check.hpp"
#include "kernels/cuda/map.cuh"
#include "kernels/cuda/pointwise.hpp"
#include "kernels/cuda/row.cuh"

namespace orrery::kernels::cuda {

namespace {

/// The largest value so far, and the sum of exp(value - largest): one pass finds both (Milakov and Gimelshein,
/// "Online normalizer calculation for softmax").
struct Running {
    float largest = -INFINITY, sum = 0.0f;

    template <int W>
    __device__ __forceinline__ void take(const float (&values)[W]) {
        float top = largest;
#pragma unroll
        for (int i = 0; i < W; ++i) top = fmaxf(top, values[i]);
        if (top == -INFINITY) return;  // nothing but -inf so far: exp(-inf - -inf) would be NaN
        sum *= __expf(largest - top);  // exp(-inf) = 0 the first time
        largest = top;
#pragma unroll
        for (int i = 0; i < W; ++i) sum += __expf(values[i] - top);
    }

    /// exp(value - all) summed over the block, given the block's largest.
    __device__ __forceinline__ float share(float all) const {
        return largest == -INFINITY ? 0.0f : sum * __expf(largest - all);
    }
};

/// Columns from `classes` on are padding: no value, no probability. Probabilities may lie where the logits were; with
/// inverse_rows above 0 their gradient takes their place.
template <class T, int W, int N>
__global__ void __launch_bounds__(1024)
    forward(const T* logits, const std::int32_t* target, T* probabilities, float* loss, std::uint64_t rows,
            std::uint32_t cols, std::uint32_t classes, float inverse_rows) {
    for (std::uint64_t r = blockIdx.x; r < rows; r += gridDim.x) {
        const T* const own = logits + r * cols;
        const float picked = threadIdx.x == 0 ? to_float(own[target[r]]) : 0.0f;
        const Row<T, W, N> row(own, cols);
        Running running;
        row.each([&](std::uint32_t column, const float(&values)[W], int) {
            float real[W];
#pragma unroll
            for (int i = 0; i < W; ++i) real[i] = column + i < classes ? values[i] : -INFINITY;
            running.take(real);
        });
        const float largest = block_max(running.largest);
        const float sum = block_sum(running.share(largest));
        const float inverse = 1.0f / sum;
        const std::uint32_t own_class = target[r];
        row.each([&](std::uint32_t column, const float(&values)[W], int) {
            float out[W];
#pragma unroll
            for (int i = 0; i < W; ++i) {
                out[i] = column + i < classes ? __expf(values[i] - largest) * inverse : 0.0f;
                if (inverse_rows > 0) out[i] = (out[i] - (column + i == own_class ? 1.0f : 0.0f)) * inverse_rows;
            }
            store(probabilities + r * cols + column, out);
        });
        if (threadIdx.x == 0) loss[r] = largest + logf(sum) - picked;
    }
}

template <class T, int W>
struct Backward {
    const T* probabilities;
    const std::int32_t* target;
    T* dlogits;
    std::uint32_t cols, classes;
    float inverse_rows;
    __device__ void operator()(std::uint64_t r, std::uint32_t c) const {
        float p[W];
        load(probabilities + r * cols + c, p);
        const std::uint32_t hit = static_cast<std::uint32_t>(target[r]) - c;
#pragma unroll
        for (std::uint32_t e = 0; e < W; ++e)
            p[e] = c + e < classes ? (p[e] - (e == hit ? 1.0f : 0.0f)) * inverse_rows : 0.0f;
        store(dlogits + r * cols + c, p);
    }
};

}  // namespace

void launch_cross_entropy(const Place& place, const Pointwise& p, Operands o) {
    const auto cols = static_cast<std::uint32_t>(p.cols);
    const auto classes = static_cast<std::uint32_t>(std::min(p.cols, o.settings().classes));
    const auto inverse_rows = static_cast<float>(1.0 / static_cast<double>(p.rows));
    with_element(p.dtype, [&](auto zero) {
        using T = decltype(zero);
        if (p.kind == PointwiseKind::cross_entropy) {
            with_row_shape<T, 1024>(p.cols, [&](auto W, auto N, unsigned threads) {
                forward<T, W.value, N.value><<<place.blocks(p.rows, 64), threads, 0, place.stream>>>(
                    at<T>(o, 0), at<std::int32_t>(o, 1), at<T>(o, 2), at<float>(o, 3), p.rows, cols, classes,
                    o.settings().loss_gradient ? inverse_rows : 0.0f);
            });
            check_launch("cross entropy");
            return;
        }
        with_width<T>(p.cols, [&](auto W) {
            const Backward<T, W.value> f{at<T>(o, 0), at<std::int32_t>(o, 1), at<T>(o, 2), cols, classes, inverse_rows};
            map_rows<W.value>(place, f, p.rows, p.cols);
        });
    });
}

}  // namespace orrery::kernels::cuda
