// Mixture of experts: the gate with its choice of experts, and moving tokens to their experts and back.
#include "kernels/cuda/check.hpp"
#include "kernels/cuda/map.cuh"
#include "kernels/cuda/pointwise.hpp"
#include "kernels/cuda/row.cuh"
#include "kernels/operands.hpp"

namespace orrery::kernels::cuda {

namespace {

constexpr int gate_threads = 256;
constexpr int k = static_cast<int>(moe_top_k);
constexpr std::uint32_t nobody = ~0u;

struct Choice {
    float logit;
    std::uint32_t expert;
};

/// The larger logit first, and of equals the lower number. `nobody` carries -inf and the highest number: always last.
__device__ __forceinline__ bool before(Choice a, Choice b) {
    return a.logit > b.logit || (a.logit == b.logit && a.expert < b.expert);
}

/// Puts c into the falling list, dropping the last.
__device__ __forceinline__ void insert(Choice (&list)[k], Choice c) {
#pragma unroll
    for (int i = 0; i < k; ++i)
        if (before(c, list[i])) {
            const Choice pushed = list[i];
            list[i] = c;
            c = pushed;
        }
}

/// Every lane's list becomes the warp's. Lanes hold distinct experts before; each step merges with a lane whose list
/// comes from other lanes, so that no expert is inserted twice.
__device__ __forceinline__ void merge(Choice (&list)[k]) {
    for (int lane = 16; lane > 0; lane /= 2) {
        Choice others[k];
#pragma unroll
        for (int i = 0; i < k; ++i) {
            others[i].logit = __shfl_xor_sync(0xffffffffu, list[i].logit, lane);
            others[i].expert = __shfl_xor_sync(0xffffffffu, list[i].expert, lane);
        }
#pragma unroll
        for (int i = 0; i < k; ++i) insert(list, others[i]);
    }
}

/// One warp a token.
__global__ void __launch_bounds__(gate_threads) gate(const float* logits, float* probabilities, std::int32_t* expert,
                                                     float* weight, std::uint64_t rows, std::uint32_t cols) {
    const unsigned lane = threadIdx.x % 32;
    const std::uint64_t warps = std::uint64_t{gridDim.x} * (gate_threads / 32);
    for (std::uint64_t r = (std::uint64_t{blockIdx.x} * gate_threads + threadIdx.x) / 32; r < rows; r += warps) {
        const float* const row = logits + r * cols;
        Choice list[k];
#pragma unroll
        for (int i = 0; i < k; ++i) list[i] = {-INFINITY, nobody};
        for (std::uint32_t c = lane; c < cols; c += 32) insert(list, {row[c], c});
        merge(list);
        float sum = 0.0f;
        for (std::uint32_t c = lane; c < cols; c += 32) sum += __expf(row[c] - list[0].logit);
        const float inverse = 1.0f / warp_sum(sum);
        for (std::uint32_t c = lane; c < cols; c += 32)
            probabilities[r * cols + c] = __expf(row[c] - list[0].logit) * inverse;
        float chosen = 0.0f;
#pragma unroll
        for (int i = 0; i < k; ++i) chosen += __expf(list[i].logit - list[0].logit);
#pragma unroll
        for (int i = 0; i < k; ++i)
            if (lane == i) {
                expert[r * k + i] = static_cast<std::int32_t>(list[i].expert);
                weight[r * k + i] = __expf(list[i].logit - list[0].logit) / chosen;
            }
    }
}

/// The gate of experts that are given, one warp a token: probabilities, and the weights of the given.
__global__ void __launch_bounds__(gate_threads)
    gate_of_given(const float* logits, const std::int32_t* experts, float* probabilities, float* weight,
                  std::uint64_t rows, std::uint32_t cols, std::uint32_t top_k) {
    const unsigned lane = threadIdx.x % 32;
    const std::uint64_t warps = std::uint64_t{gridDim.x} * (gate_threads / 32);
    for (std::uint64_t r = (std::uint64_t{blockIdx.x} * gate_threads + threadIdx.x) / 32; r < rows; r += warps) {
        const float* const row = logits + r * cols;
        float largest = -INFINITY, sum = 0.0f, chosen = 0.0f;
        for (std::uint32_t c = lane; c < cols; c += 32) largest = fmaxf(largest, row[c]);
        largest = warp_max(largest);
        for (std::uint32_t c = lane; c < cols; c += 32) sum += __expf(row[c] - largest);
        sum = warp_sum(sum);
        const float inverse = 1.0f / sum;
        for (std::uint32_t c = lane; c < cols; c += 32)
            probabilities[r * cols + c] = __expf(row[c] - largest) * inverse;
        for (std::uint32_t j = lane; j < top_k; j += 32) chosen += __expf(row[experts[r * top_k + j]] - largest);
        chosen = warp_sum(chosen);
        const float share = top_k == 1 ? inverse : 1.0f / chosen;
        for (std::uint32_t j = lane; j < top_k; j += 32)
            weight[r * top_k + j] = __expf(row[experts[r * top_k + j]] - largest) * share;
    }
}

template <class T, int W>
struct Permute {
    const T* x;
    const std::int32_t* source;
    T* y;
    std::uint32_t cols, top_k;
    __device__ void operator()(std::uint64_t r, std::uint32_t c) const {
        Vector<T, W> vector;
        vector.read(x + std::uint64_t{static_cast<std::uint32_t>(source[r]) / top_k} * cols + c);
        vector.write(y + r * cols + c);
    }
};

template <class T, int W>
struct Unpermute {
    const T* x;
    const std::int32_t* position;
    const float* weight;
    T* y;
    std::uint32_t cols, top_k;
    __device__ void operator()(std::uint64_t t, std::uint32_t c) const {
        float sum[W] = {}, values[W];
        for (std::uint64_t u = t * top_k; u < (t + 1) * top_k; ++u) {
            load(x + static_cast<std::uint64_t>(position[u]) * cols + c, values);
#pragma unroll
            for (int e = 0; e < W; ++e) sum[e] += weight[u] * values[e];
        }
        store(y + t * cols + c, sum);
    }
};

}  // namespace

void launch_moe(const Place& place, const Pointwise& p, Operands o) {
    const auto cols = static_cast<std::uint32_t>(p.cols), top_k = static_cast<std::uint32_t>(top_k_of(o.settings()));
    if (p.kind == PointwiseKind::permute && o.settings().unpermuted.x != nullptr)
        return launch_unpermute_backward(place, p, o);
    if (p.kind == PointwiseKind::moe_gate && o.settings().experts != nullptr) {
        const unsigned blocks = place.blocks((p.rows + 7) / 8, 4 * map_blocks);
        gate_of_given<<<blocks, gate_threads, 0, place.stream>>>(at<float>(o, 0), o.settings().experts, at<float>(o, 1),
                                                                 at<float>(o, 3), p.rows, cols, top_k);
        check_launch("moe gate");
        return;
    }
    if (p.kind == PointwiseKind::moe_gate) {
        const unsigned blocks = place.blocks((p.rows + 7) / 8, 4 * map_blocks);
        gate<<<blocks, gate_threads, 0, place.stream>>>(at<float>(o, 0), at<float>(o, 1), at<std::int32_t>(o, 2),
                                                        at<float>(o, 3), p.rows, cols);
        check_launch("moe gate");
        return;
    }
    with_element(p.dtype, [&](auto zero) {
        using T = decltype(zero);
        with_width<T>(p.cols, [&](auto W) {
            if (p.kind == PointwiseKind::permute) {
                const Permute<T, W.value> f{at<T>(o, 0), at<std::int32_t>(o, 1), at<T>(o, 2), cols, top_k};
                map_rows<W.value>(place, f, p.rows, p.cols);
            } else {
                const Unpermute<T, W.value> f{at<T>(o, 0), at<std::int32_t>(o, 1), at<float>(o, 2), at<T>(o, 3), cols,
                                              top_k};
                map_rows<W.value>(place, f, p.rows / top_k, p.cols);
            }
        });
    });
}

}  // namespace orrery::kernels::cuda
