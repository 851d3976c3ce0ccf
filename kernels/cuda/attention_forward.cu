// Fused attention, forward (FlashAttention-2, algorithm 1): a block takes 128 queries of a head and goes over its keys,
// 64 at a time. Each of its four warps owns 32 queries: scores, their running maximum and sum, and the output stay in
// the warp's registers. Loading a tile of V overlaps the scores, loading the next K the rest.
#include "kernels/cuda/attention_dropout.cuh"
#include "kernels/cuda/attention_kernels.hpp"
#include "kernels/cuda/attention_tile.cuh"
#include "kernels/cuda/check.hpp"

namespace orrery::kernels::cuda {

namespace {

constexpr float log2_e = 1.4426950408889634f;
constexpr int MT = 2, queries = 16 * MT * warps_per_block;

/// Keys that go by at a time. In tf32, whose rows take twice the memory, half as many where heads are long, and where
/// the numbers of a dropout need registers.
template <class T, int D, bool drops>
constexpr int keys_at_a_time = is_tf32<T> ? (D > 64 ? 32 : 64) / (drops ? 2 : 1) : 64;

/// In KiB at 64, 80, 96 and 128 columns, without a dropout: 36, 44, 52, 68 in 16 bits; 68, 63, 75, 99 in tf32. A
/// multiprocessor has 164 on sm_80 and 228 on sm_90, 1 of them for each block: it takes at least two of each, for which
/// it has the registers, but of tf32 at 128 columns one on sm_80. 99 is what a block may have on the smaller of
/// Ampere's and Ada's GPUs.
template <class T, int D, bool drops>
constexpr int forward_shared = static_cast<int>(sizeof(T)) * tile_pitch<T>(D) *
                               (queries + 2 * keys_at_a_time<T, D, drops>);

/// Maximum and sum of each of a thread's rows (16 m + 8 half + lane / 4); the sum is the thread's own share of its row.
struct Running {
    float largest[MT][2], sum[MT][2];

    __device__ __forceinline__ Running() {
#pragma unroll
        for (int m = 0; m < MT; ++m)
#pragma unroll
            for (int half = 0; half < 2; ++half) {
                largest[m][half] = -INFINITY;
                sum[m][half] = 0.0f;
            }
    }
};

__device__ __forceinline__ float quad_max(float x) {
    x = fmaxf(x, __shfl_xor_sync(0xffffffffu, x, 1));
    return fmaxf(x, __shfl_xor_sync(0xffffffffu, x, 2));
}

__device__ __forceinline__ float quad_sum(float x) {
    x += __shfl_xor_sync(0xffffffffu, x, 1);
    return x + __shfl_xor_sync(0xffffffffu, x, 2);
}

/// Scores that do not count become -infinity: keys from seq on, and keys after the query.
template <int NT>
__device__ __forceinline__ void mask(Sums<MT, NT>& scores, std::uint32_t query, std::uint32_t key, std::uint32_t seq,
                                     bool causal, int lane) {
    each_sum<MT, NT>(lane, [&](int m, int n, int i, Place16 at) {
        if (key + at.col >= seq || (causal && key + at.col > query + at.row)) scores[m][n][i] = -INFINITY;
    });
}

/// Scores become probabilities relative to the new maximum, and what was summed before is scaled to it.
template <int D, int NT>
__device__ __forceinline__ void soften(Sums<MT, NT>& scores, Running& r, Sums<MT, D / 8>& out, float scale) {
#pragma unroll
    for (int m = 0; m < MT; ++m)
#pragma unroll
        for (int half = 0; half < 2; ++half) {
            float top = r.largest[m][half];
#pragma unroll
            for (int n = 0; n < NT; ++n) top = fmaxf(top, fmaxf(scores[m][n][2 * half], scores[m][n][2 * half + 1]));
            top = quad_max(top);  // finite: the first tile has key 0, which counts for every query
            const float correction = power_of_two((r.largest[m][half] - top) * scale);
            const float offset = top * scale;
            float sum = 0.0f;
#pragma unroll
            for (int n = 0; n < NT; ++n)
#pragma unroll
                for (int i = 2 * half; i < 2 * half + 2; ++i) {
                    scores[m][n][i] = power_of_two(scores[m][n][i] * scale - offset);
                    sum += scores[m][n][i];
                }
            r.largest[m][half] = top;
            r.sum[m][half] = r.sum[m][half] * correction + sum;
#pragma unroll
            for (int n = 0; n < D / 8; ++n) {
                out[m][n][2 * half] *= correction;
                out[m][n][2 * half + 1] *= correction;
            }
        }
}

/// Probabilities that are dropped become 0, and the others larger: behind their sum, before they weigh values. first:
/// the place in the mask of the first.
template <int NT>
__device__ __forceinline__ void drop(Sums<MT, NT>& p, const AttentionArguments& a, std::uint64_t first, int lane) {
    each_tile<MT, NT>([&](int m, int n, Place16 tile) {
        float by[4];
        factors_by_query(a.dropped, first, tile, a.seq, lane, by);
#pragma unroll
        for (int i = 0; i < 4; ++i) p[m][n][i] *= by[i];
    });
}

/// drops: a kernel of its own, so that attention without a dropout keeps its registers.
template <class T, int D, bool drops>
__global__ void __launch_bounds__(threads_per_block) forward(AttentionArguments a, float inverse_root) {
    constexpr int keys = keys_at_a_time<T, D, drops>, NT = keys / 8, pitch = tile_pitch<T>(D);
    extern __shared__ __align__(16) unsigned char memory[];
    T* const q_tile = reinterpret_cast<T*>(memory);
    T* const k_tile = q_tile + queries * pitch;
    T* const v_tile = k_tile + keys * pitch;

    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    // Long rows first: under a causal mask the last queries see the most keys.
    const std::uint32_t first = (gridDim.x - 1 - blockIdx.x) * queries, own = first + warp * 16 * MT;
    const std::uint32_t head = blockIdx.y, kv_head = head / (a.heads / a.kv_heads);
    const std::uint64_t kv_stride = a.kv_stride;
    const std::uint64_t sequence = std::uint64_t{blockIdx.z} * a.seq;
    const T* const q = static_cast<const T*>(a.q) + sequence * a.q_stride + head * D;
    const T* const k = static_cast<const T*>(a.k) + sequence * kv_stride + kv_head * D;
    const T* const v = static_cast<const T*>(a.v) + sequence * kv_stride + kv_head * D;
    T* const own_q = q_tile + warp * 16 * MT * pitch;

    const std::uint32_t seen = a.causal ? min(a.seq, first + queries) : a.seq;
    const std::uint32_t tiles = (seen + keys - 1) / keys;
    const float scale = inverse_root * log2_e;  // of exponents of two
    Sums<MT, D / 8> out = {};
    Running running;
    const std::uint64_t dropped = mask_of_query<drops>(a.dropped, blockIdx.z, a.heads, head, a.seq, own);
    load_tile<T, D, queries>(q_tile, q, a.q_stride, first, a.seq);
    load_tile<T, D, keys>(k_tile, k, kv_stride, 0, a.seq);
    commit_copies();
    wait_copies<0>();
    round_tile<T, D, queries>(q_tile);
    for (std::uint32_t j = 0; j < tiles; ++j) {
        wait_copies<0>();
        round_tile<T, D, keys>(k_tile);
        __syncthreads();  // K is here for everyone, and no one reads the last V any more
        load_tile<T, D, keys>(v_tile, v, kv_stride, j * keys, a.seq);
        commit_copies();
        Sums<MT, NT> scores;
        rows_by_rows<T, D, MT, NT>(scores, own_q, k_tile, lane);
        wait_copies<0>();
        round_tile<T, D, keys>(v_tile);
        __syncthreads();  // V is here for everyone, and no one reads this K any more
        if (j + 1 < tiles) {
            load_tile<T, D, keys>(k_tile, k, kv_stride, (j + 1) * keys, a.seq);
            commit_copies();
        }
        const std::uint32_t end = (j + 1) * keys;
        if (end > a.seq || (a.causal && end > own + 1)) mask(scores, own, j * keys, a.seq, a.causal, lane);
        soften<D>(scores, running, out, scale);
        if constexpr (drops) drop(scores, a, dropped + j * keys, lane);
        registers_by_columns<T, D, MT, NT>(out, scores, v_tile, lane);
    }

    float* const lse = a.lse + (std::uint64_t{blockIdx.z} * a.heads + head) * a.seq;
#pragma unroll
    for (int m = 0; m < MT; ++m)
#pragma unroll
        for (int half = 0; half < 2; ++half) {
            running.sum[m][half] = quad_sum(running.sum[m][half]);
            const std::uint32_t row = own + 16 * m + 8 * half + lane / 4;
            if (lane % 4 == 0 && row < a.seq)
                lse[row] = running.largest[m][half] * inverse_root + logf(running.sum[m][half]);
        }
    T* const o = static_cast<T*>(a.o) + sequence * a.o_stride + head * D;
    store_sums<T, D, MT>(
        out, [&](int m, int half) { return 1.0f / running.sum[m][half]; }, own_q, o, a.o_stride, own, a.seq, lane);
}

}  // namespace

template <class T, int D>
void launch_forward(const Place& place, const AttentionArguments& a, std::uint32_t batch) {
    const auto run = [&](auto* kernel, int bytes) {
        check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes),
              "reserving shared memory for attention");
        const dim3 grid((a.seq + queries - 1) / queries, a.heads, batch);
        kernel<<<grid, threads_per_block, bytes, place.stream>>>(a, 1.0f / sqrtf(static_cast<float>(D)));
    };
    a.dropped.threshold > 0 ? run(forward<T, D, true>, forward_shared<T, D, true>)
                            : run(forward<T, D, false>, forward_shared<T, D, false>);
    check_launch("attention");
}

template void launch_forward<__half, 64>(const Place&, const AttentionArguments&, std::uint32_t);
template void launch_forward<__half, 80>(const Place&, const AttentionArguments&, std::uint32_t);
template void launch_forward<__half, 96>(const Place&, const AttentionArguments&, std::uint32_t);
template void launch_forward<__half, 128>(const Place&, const AttentionArguments&, std::uint32_t);
template void launch_forward<__nv_bfloat16, 64>(const Place&, const AttentionArguments&, std::uint32_t);
template void launch_forward<__nv_bfloat16, 80>(const Place&, const AttentionArguments&, std::uint32_t);
template void launch_forward<__nv_bfloat16, 96>(const Place&, const AttentionArguments&, std::uint32_t);
template void launch_forward<__nv_bfloat16, 128>(const Place&, const AttentionArguments&, std::uint32_t);
template void launch_forward<float, 64>(const Place&, const AttentionArguments&, std::uint32_t);
template void launch_forward<float, 80>(const Place&, const AttentionArguments&, std::uint32_t);
template void launch_forward<float, 96>(const Place&, const AttentionArguments&, std::uint32_t);
template void launch_forward<float, 128>(const Place&, const AttentionArguments&, std::uint32_t);

}  // namespace orrery::kernels::cuda
