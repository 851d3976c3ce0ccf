// LayerNorm and RMSNorm: a block takes a row, which stays in registers between the passes over it.
// Forward moves x and y once. Backward moves x, dy and dx once; each block keeps its share of the gradients of gamma
// and beta in registers over all of its rows, and a second kernel adds the blocks' shares in a fixed order.
#include "kernels/cuda/check.hpp"
#include "kernels/cuda/norms.hpp"
#include "kernels/cuda/pointwise.hpp"
#include "kernels/cuda/row.cuh"
#include "kernels/operands.hpp"

namespace orrery::kernels::cuda {

namespace {

template <class T>
struct Forward {
    const T *x, *gamma, *beta;
    T* y;
    float *mean, *rstd;
    std::uint64_t rows;
    std::uint32_t cols;
};

template <class T>
struct Backward {
    const T *x, *gamma, *dy;
    const float *mean, *rstd;
    T* dx;
    float *dgamma, *dbeta;  ///< [blocks, cols]: each block's share
    std::uint64_t rows;
    std::uint32_t cols;
};

template <class T, int W, int N, bool centred>
__global__ void __launch_bounds__(1024) forward(Forward<T> a) {
    for (std::uint64_t r = blockIdx.x; r < a.rows; r += gridDim.x) {
        const Row<T, W, N> row(a.x + r * a.cols, a.cols);
        float mean = 0.0f;
        if constexpr (centred) {
            float sum = 0.0f;
            row.each([&](std::uint32_t, const float(&x)[W], int) {
#pragma unroll
                for (int i = 0; i < W; ++i) sum += x[i];
            });
            mean = block_sum(sum) / static_cast<float>(a.cols);
        }
        float squares = 0.0f;
        row.each([&](std::uint32_t, const float(&x)[W], int) {
#pragma unroll
            for (int i = 0; i < W; ++i) squares += (x[i] - mean) * (x[i] - mean);
        });
        const float variance = block_sum(squares) / static_cast<float>(a.cols);
        const float rstd = 1.0f / sqrtf(variance + static_cast<float>(norm_epsilon));
        row.each([&](std::uint32_t column, const float(&x)[W], int) {
            float gamma[W], beta[W] = {}, y[W];
            load(a.gamma + column, gamma);
            if constexpr (centred) load(a.beta + column, beta);
#pragma unroll
            for (int i = 0; i < W; ++i) y[i] = (x[i] - mean) * rstd * gamma[i] + beta[i];
            store(a.y + r * a.cols + column, y);
        });
        if (threadIdx.x == 0) {
            if constexpr (centred) a.mean[r] = mean;
            a.rstd[r] = rstd;
        }
    }
}

/// The gradients of gamma and beta over this block's rows: in registers where the row is (N > 0), else in the block's
/// share in memory, where every column belongs to one thread.
template <int W, int N, bool centred>
struct Share {
    float gamma[N > 0 ? N : 1][W] = {}, beta[N > 0 && centred ? N : 1][W] = {};

    __device__ __forceinline__ void add(float* dgamma, float* dbeta, std::uint32_t column, int i, const float (&h)[W],
                                        const float (&dy)[W]) {
#pragma unroll
        for (int e = 0; e < W; ++e) {
            if constexpr (N > 0) {
                gamma[i][e] += dy[e] * h[e];
                if constexpr (centred) beta[i][e] += dy[e];
            } else {
                dgamma[column + e] += dy[e] * h[e];
                if constexpr (centred) dbeta[column + e] += dy[e];
            }
        }
    }

    __device__ __forceinline__ void begin(float* dgamma, float* dbeta, std::uint32_t cols) const {
        if constexpr (N == 0)
            for (std::uint32_t column = threadIdx.x * W; column < cols; column += blockDim.x * W)
                write(dgamma, dbeta, column, 0);
    }

    __device__ __forceinline__ void end(float* dgamma, float* dbeta, std::uint32_t cols) const {
#pragma unroll
        for (int i = 0; i < N; ++i) {
            const std::uint32_t column = (i * blockDim.x + threadIdx.x) * W;
            if (column < cols) write(dgamma, dbeta, column, i);
        }
    }

private:
    __device__ __forceinline__ void write(float* dgamma, float* dbeta, std::uint32_t column, int i) const {
        store(dgamma + column, gamma[i]);
        if constexpr (centred) store(dbeta + column, beta[i]);
    }
};

template <class T, int W, int N, bool centred>
__global__ void __launch_bounds__(norm_backward_threads) backward(Backward<T> a) {
    float* const dgamma = a.dgamma + std::uint64_t{blockIdx.x} * a.cols;
    float* const dbeta = centred ? a.dbeta + std::uint64_t{blockIdx.x} * a.cols : nullptr;
    Share<W, N, centred> share;
    share.begin(dgamma, dbeta, a.cols);
    for (std::uint64_t r = blockIdx.x; r < a.rows; r += gridDim.x) {
        const Row<T, W, N> x_row(a.x + r * a.cols, a.cols), dy_row(a.dy + r * a.cols, a.cols);
        const float mean = centred ? a.mean[r] : 0.0f, rstd = a.rstd[r];
        float sum_g = 0.0f, sum_gh = 0.0f;
        x_row.each_with(dy_row, [&](std::uint32_t column, const float(&x)[W], const float(&dy)[W], int i) {
            float gamma[W], h[W];
            load(a.gamma + column, gamma);
#pragma unroll
            for (int e = 0; e < W; ++e) {
                h[e] = (x[e] - mean) * rstd;
                sum_g += dy[e] * gamma[e];
                sum_gh += dy[e] * gamma[e] * h[e];
            }
            share.add(dgamma, dbeta, column, i, h, dy);
        });
        const float2 sums = block_sum(sum_g, sum_gh);
        const float mean_g = centred ? sums.x / static_cast<float>(a.cols) : 0.0f;
        const float mean_gh = sums.y / static_cast<float>(a.cols);
        x_row.each_with(dy_row, [&](std::uint32_t column, const float(&x)[W], const float(&dy)[W], int) {
            float gamma[W], dx[W];
            load(a.gamma + column, gamma);
#pragma unroll
            for (int e = 0; e < W; ++e) dx[e] = rstd * (dy[e] * gamma[e] - mean_g - (x[e] - mean) * rstd * mean_gh);
            store(a.dx + r * a.cols + column, dx);
        });
    }
    share.end(dgamma, dbeta, a.cols);
}

template <class T, bool centred>
void run_forward(const Place& place, const Pointwise& p, Operands o) {
    const int after = centred ? 1 : 0;  // beta is the third operand of a LayerNorm
    const Forward<T> a{at<T>(o, 0),
                       at<T>(o, 1),
                       centred ? at<T>(o, 2) : nullptr,
                       at<T>(o, 2 + after),
                       centred ? at<float>(o, 4) : nullptr,
                       at<float>(o, centred ? 5 : 3),
                       p.rows,
                       static_cast<std::uint32_t>(p.cols)};
    with_row_shape<T, 1024>(p.cols, [&](auto W, auto N, unsigned threads) {
        forward<T, W.value, N.value, centred><<<place.blocks(p.rows, 64), threads, 0, place.stream>>>(a);
    });
    check_launch("norm");
}

template <class T, bool centred>
void run_backward(const Place& place, const Pointwise& p, Operands o) {
    const unsigned blocks = norm_backward_blocks(p, place.multiprocessors);
    const auto cols = static_cast<std::uint32_t>(p.cols);
    auto* const shares = static_cast<float*>(place.scratch);
    const std::size_t tail = centred ? 5 : 4;  // dx
    const Backward<T> a{at<T>(o, 0),
                        at<T>(o, 1),
                        at<T>(o, 2),
                        centred ? at<float>(o, 3) : nullptr,
                        at<float>(o, centred ? 4 : 3),
                        at<T>(o, tail),
                        shares,
                        shares + blocks * p.cols,
                        p.rows,
                        cols};
    with_row_shape<T, norm_backward_threads>(p.cols, [&](auto W, auto N, unsigned threads) {
        backward<T, W.value, N.value, centred><<<blocks, threads, 0, place.stream>>>(a);
    });
    check_launch("norm backward");
    const Dtype format = o.settings().result.value_or(Dtype::fp32);
    sum_columns(place, a.dgamma, blocks, p.cols, format, o[tail + 1], o.settings().accumulate);
    if constexpr (centred) sum_columns(place, a.dbeta, blocks, p.cols, format, o[tail + 2], o.settings().accumulate);
}

}  // namespace

void launch_norm(const Place& place, const Pointwise& p, Operands o) {
    with_element(p.dtype, [&](auto zero) {
        using T = decltype(zero);
        p.kind == PointwiseKind::layernorm ? run_forward<T, true>(place, p, o) : run_forward<T, false>(place, p, o);
    });
}

void launch_norm_backward(const Place& place, const Pointwise& p, Operands o) {
    with_element(p.dtype, [&](auto zero) {
        using T = decltype(zero);
        p.kind == PointwiseKind::layernorm_backward ? run_backward<T, true>(place, p, o)
                                                    : run_backward<T, false>(place, p, o);
    });
}

}  // namespace orrery::kernels::cuda
