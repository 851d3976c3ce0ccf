// Gradients of layers with experts: of the gate whose experts are given, and of what brings tokens back.
#include "kernels/cuda/check.hpp"
#include "kernels/cuda/map.cuh"
#include "kernels/cuda/pointwise.hpp"
#include "kernels/cuda/row.cuh"

namespace orrery::kernels::cuda {

namespace {

constexpr int threads = 256;  ///< of a block; a warp takes a row

__device__ __forceinline__ std::uint64_t first_row() {
    return (std::uint64_t{blockIdx.x} * threads + threadIdx.x) / 32;
}
__device__ __forceinline__ std::uint64_t rows_at_once() { return std::uint64_t{gridDim.x} * (threads / 32); }

/// Weights are probabilities of the chosen over their sum, or of one alone: that probability itself.
__global__ void __launch_bounds__(threads)
    gate_backward(const float* probabilities, const float* dweight, const std::int32_t* experts, float* dlogits,
                  std::uint64_t rows, std::uint32_t cols, std::uint32_t top_k) {
    const unsigned lane = threadIdx.x % 32;
    for (std::uint64_t r = first_row(); r < rows; r += rows_at_once()) {
        const float* const p = probabilities + r * cols;
        const float* const g = dweight + r * top_k;
        const std::int32_t* const chosen = experts + r * top_k;
        float total = 0.0f, mean = 0.0f;
        for (std::uint32_t j = lane; j < top_k; j += 32) total += p[chosen[j]];
        total = top_k == 1 ? 1.0f : warp_sum(total);
        for (std::uint32_t j = lane; j < top_k; j += 32) mean += p[chosen[j]] / total * g[j];
        mean = warp_sum(mean);
        for (std::uint32_t c = lane; c < cols; c += 32) {
            float value = top_k == 1 ? -p[c] * mean : 0.0f;
            for (std::uint32_t j = 0; j < top_k; ++j)
                if (chosen[j] == static_cast<std::int32_t>(c)) value = p[c] / total * (g[j] - mean);
            dlogits[r * cols + c] = value;
        }
    }
}

template <class T, int W>
__global__ void __launch_bounds__(threads)
    unpermute_backward(const T* dy, const std::int32_t* source, const T* x, const float* weight, T* dx, float* dweight,
                       std::uint64_t rows, std::uint32_t cols, std::uint32_t top_k) {
    const unsigned lane = threadIdx.x % 32;
    for (std::uint64_t r = first_row(); r < rows; r += rows_at_once()) {
        const auto copy = static_cast<std::uint32_t>(source[r]);
        const T* const from = dy + std::uint64_t{copy / top_k} * cols;
        const float factor = weight[copy];
        float dot = 0.0f;
        for (std::uint32_t c = lane * W; c < cols; c += 32 * W) {
            float values[W], others[W];
            load(from + c, values);
            load(x + r * cols + c, others);
#pragma unroll
            for (int e = 0; e < W; ++e) {
                dot += values[e] * others[e];
                values[e] *= factor;
            }
            store(dx + r * cols + c, values);
        }
        dot = warp_sum(dot);
        if (lane == 0) dweight[copy] = dot;
    }
}

}  // namespace

void launch_moe_gate_backward(const Place& place, const Pointwise& p, Operands o) {
    const unsigned blocks = place.blocks((p.rows + 7) / 8, 4 * map_blocks);
    gate_backward<<<blocks, threads, 0, place.stream>>>(at<float>(o, 0), at<float>(o, 1), o.settings().experts,
                                                        at<float>(o, 2), p.rows, static_cast<std::uint32_t>(p.cols),
                                                        static_cast<std::uint32_t>(top_k_of(o.settings())));
    check_launch("moe gate backward");
}

void launch_unpermute_backward(const Place& place, const Pointwise& p, Operands o) {
    const unsigned blocks = place.blocks((p.rows + 7) / 8, 4 * map_blocks);
    const Unpermuted& forward = o.settings().unpermuted;
    with_element(p.dtype, [&](auto zero) {
        using T = decltype(zero);
        with_width<T>(p.cols, [&](auto W) {
            unpermute_backward<T, W.value><<<blocks, threads, 0, place.stream>>>(
                at<T>(o, 0), at<std::int32_t>(o, 1), static_cast<const T*>(forward.x), forward.weight, at<T>(o, 2),
                forward.dweight, p.rows, static_cast<std::uint32_t>(p.cols),
                static_cast<std::uint32_t>(top_k_of(o.settings())));
        });
    });
    check_launch("unpermute backward");
}

}  // namespace orrery::kernels::cuda
