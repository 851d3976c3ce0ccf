// Softmax along rows, scaled, and its gradient: a block takes a row.
#include "kernels/cuda/check.hpp"
#include "kernels/cuda/pointwise.hpp"
#include "kernels/cuda/row.cuh"
#include "kernels/operands.hpp"

namespace orrery::kernels::cuda {

namespace {

/// Keys that a row's query sees (Attention::first_key, end_key); all where there are no queries.
struct SeenKeys {
    std::uint32_t seq = 0, window = 0;
    bool causal = false;
    [[nodiscard]] __device__ __forceinline__ bool operator()(std::uint64_t row, std::uint32_t key,
                                                             std::uint32_t keys) const {
        if (seq == 0) return true;
        const std::uint32_t own = static_cast<std::uint32_t>(row % seq) + keys - seq;  // the key at its position
        if (causal && key > own) return false;
        return window == 0 || (key + window > own && key < own + window);
    }
};

template <class T, int W, int N>
__global__ void __launch_bounds__(1024)
    forward(const T* x, T* y, std::uint64_t rows, std::uint32_t cols, float scale, SeenKeys seen) {
    for (std::uint64_t r = blockIdx.x; r < rows; r += gridDim.x) {
        const Row<T, W, N> row(x + r * cols, cols);
        float largest = -INFINITY;
        row.each([&](std::uint32_t column, const float(&v)[W], int) {
#pragma unroll
            for (int i = 0; i < W; ++i) largest = seen(r, column + i, cols) ? fmaxf(largest, v[i]) : largest;
        });
        largest = block_max(largest);
        float sum = 0.0f;
        row.each([&](std::uint32_t column, const float(&v)[W], int) {
#pragma unroll
            for (int i = 0; i < W; ++i) sum += seen(r, column + i, cols) ? __expf(scale * (v[i] - largest)) : 0.0f;
        });
        const float inverse = 1.0f / block_sum(sum);
        row.each([&](std::uint32_t column, const float(&v)[W], int) {
            float out[W];
#pragma unroll
            for (int i = 0; i < W; ++i)
                out[i] = seen(r, column + i, cols) ? __expf(scale * (v[i] - largest)) * inverse : 0.0f;
            store(y + r * cols + column, out);
        });
    }
}

template <class T, int W, int N>
__global__ void __launch_bounds__(1024)
    backward(const T* y, const T* dy, T* dx, std::uint64_t rows, std::uint32_t cols, float scale) {
    for (std::uint64_t r = blockIdx.x; r < rows; r += gridDim.x) {
        const Row<T, W, N> y_row(y + r * cols, cols), dy_row(dy + r * cols, cols);
        float dot = 0.0f;
        y_row.each_with(dy_row, [&](std::uint32_t, const float(&p)[W], const float(&g)[W], int) {
#pragma unroll
            for (int i = 0; i < W; ++i) dot += p[i] * g[i];
        });
        dot = block_sum(dot);
        y_row.each_with(dy_row, [&](std::uint32_t column, const float(&p)[W], const float(&g)[W], int) {
            float out[W];
#pragma unroll
            for (int i = 0; i < W; ++i) out[i] = scale * p[i] * (g[i] - dot);
            store(dx + r * cols + column, out);
        });
    }
}

}  // namespace

void launch_softmax(const Place& place, const Pointwise& p, Operands o) {
    if (p.kind == PointwiseKind::softmax_backward && o.settings().experts != nullptr)
        return launch_moe_gate_backward(place, p, o);
    const auto cols = static_cast<std::uint32_t>(p.cols);
    const auto scale = static_cast<float>(o.settings().scale_factor.value_or(softmax_scale));
    SeenKeys seen;
    if (const auto& scores = o.settings().scores) seen = {scores->seq, scores->window, scores->causal};
    with_element(p.dtype, [&](auto zero) {
        using T = decltype(zero);
        with_row_shape<T, 1024>(p.cols, [&](auto W, auto N, unsigned threads) {
            const unsigned blocks = place.blocks(p.rows, 64);
            if (p.kind == PointwiseKind::softmax)
                forward<T, W.value, N.value>
                    <<<blocks, threads, 0, place.stream>>>(at<T>(o, 0), at<T>(o, 1), p.rows, cols, scale, seen);
            else
                backward<T, W.value, N.value>
                    <<<blocks, threads, 0, place.stream>>>(at<T>(o, 0), at<T>(o, 1), at<T>(o, 2), p.rows, cols, scale);
        });
    });
    check_launch("softmax");
}

}  // namespace orrery::kernels::cuda
