// Fused attention, backward: the same sums as FlashAttention-2 (algorithm 2), in two kernels that each own what they
// write, so that the result is the same in every run: one goes over the queries for a tile of keys (dK, dV), one over
// the keys for a tile of queries (dQ). Seven products instead of five: the scores and dP are computed twice; in
// exchange nothing is added atomically, and the query heads of one key-value head are summed in registers.
#include "kernels/cuda/attention_dropout.cuh"
#include "kernels/cuda/attention_kernels.hpp"
#include "kernels/cuda/attention_tile.cuh"
#include "kernels/cuda/check.hpp"

namespace orrery::kernels::cuda {

namespace {

constexpr float log2_e = 1.4426950408889634f;

/// How a kernel divides its work: a block owns 16 MT rows for each of its four warps, and `tile` rows of the other
/// side go by, in two buffers: one is filled while the other is used.
template <class T, int D>
struct Keys {  // dK and dV, 16 MT x D each, fill the registers
    static constexpr int MT = 1, tile = 64;
};
template <class T, int D>
struct Queries {  // dQ alone leaves room for twice the rows
    static constexpr int MT = 2, tile = 32;
};
template <int D>
struct Keys<float, D> {  // rows of tf32 take twice the memory
    static constexpr int MT = 1, tile = D > 64 ? 16 : 32;
};
template <int D>
struct Queries<float, D> : Keys<float, D> {};

template <class Shape>
constexpr int owned = 16 * Shape::MT* warps_per_block;

/// Two owned tensors and two buffers of two passing ones. In KiB at 64, 80, 96 and 128 columns: 54, 66, 78, 102 in 16
/// bits, for keys and for queries; 68, 63, 75, 99 in tf32. A multiprocessor has 164 on sm_80 and 228 on sm_90, 1 of
/// them for each block: it takes at least two of each, for which it has the registers, but at 128 columns one on sm_80.
/// 99 is what a block may have on the smaller of Ampere's and Ada's GPUs.
template <class T, int D, class Shape>
constexpr int shared_bytes = static_cast<int>(sizeof(T)) * tile_pitch<T>(D) * (2 * owned<Shape> + 4 * Shape::tile);

/// Blocks of keys_backward that a multiprocessor must have registers for; 0: the compiler chooses. For tf32 it would
/// choose three, and spill.
template <class T>
constexpr int least_blocks = is_tf32<T> ? 2 : 0;

/// Where one (batch, head) begins in a tensor whose tokens are `stride` elements apart.
template <int D>
__device__ __forceinline__ std::uint64_t offset_of(const AttentionArguments& a, std::uint64_t stride,
                                                   std::uint32_t head) {
    return blockIdx.z * a.seq * stride + std::uint64_t{head} * D;
}
template <class T, int D>
__device__ __forceinline__ const T* head_of(const void* tensor, const AttentionArguments& a, std::uint64_t stride,
                                            std::uint32_t head) {
    return static_cast<const T*>(tensor) + offset_of<D>(a, stride, head);
}

/// delta = sum over the head's columns of do times o: eight lanes a row.
template <class T, int D>
__global__ void __launch_bounds__(256) row_dots(AttentionArguments a, std::uint64_t rows) {
    const std::uint64_t row = (std::uint64_t{blockIdx.x} * 256 + threadIdx.x) / 8;  // (batch, position, head)
    const int lane = threadIdx.x % 8;
    float sum = 0.0f;
    if (row < rows) {
        for (int column = 8 * lane; column < D; column += 64) {
            float o[8], g[8];
            load(static_cast<const T*>(a.o) + row * D + column, o);
            load(static_cast<const T*>(a.d_o) + row * D + column, g);
#pragma unroll
            for (int i = 0; i < 8; ++i) sum += o[i] * g[i];
        }
    }
#pragma unroll
    for (int other = 4; other > 0; other /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, other);
    if (lane != 0 || row >= rows) return;
    const std::uint64_t token = row / a.heads, head = row % a.heads;
    a.delta[(token / a.seq * a.heads + head) * a.seq + token % a.seq] = sum;
}

/// Scores become P times what its dropout multiplies it by, which weighed the values, and dP becomes
/// dS = P (factor dP - delta). at: a place among the warp's scores. hidden(at): whether a key does not count for its
/// query (asked only where `masked`); statistics(m, i, at): lse and delta of its query; factors(tile, by): of the
/// dropout of 16 x 8 scores from that place on, untouched without one.
template <int MT, int NT, class Hidden, class Statistics, class Factors>
__device__ __forceinline__ void differentiate(Sums<MT, NT>& scores, Sums<MT, NT>& d_p, int lane, bool masked,
                                              float scale, Hidden hidden, Statistics statistics, Factors factors) {
    each_tile<MT, NT>([&](int m, int n, Place16 tile) {
        float by[4] = {1.0f, 1.0f, 1.0f, 1.0f};
        factors(tile, by);
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            const Place16 within = result_at(lane, i), at{tile.row + within.row, tile.col + within.col};
            const float2 row = statistics(m, i, at);
            float p = power_of_two(scores[m][n][i] * scale - row.x * log2_e);
            if (masked && hidden(at)) p = 0.0f;
            scores[m][n][i] = p * by[i];
            d_p[m][n][i] = p * (d_p[m][n][i] * by[i] - row.y);
        }
    });
}

/// Begins to load what comes behind a step, waits for what the step takes, and makes it ready for products.
template <class Load, class Ready>
__device__ __forceinline__ void begin_step(std::uint32_t step, std::uint32_t steps, const Load& load,
                                           const Ready& ready) {
    if (step + 1 < steps) {
        load(step + 1);
        wait_copies<1>();
    } else {
        wait_copies<0>();
    }
    ready(step);
    __syncthreads();
}

/// lse and delta of a tile of queries of one head, into the padding behind each query's row.
template <class T, int D, int tile>
__device__ __forceinline__ void load_statistics(T* q_tile, const AttentionArguments& a, std::uint32_t head,
                                                std::uint32_t query) {
    if (threadIdx.x >= 2 * tile) return;
    const std::uint32_t row = threadIdx.x % tile, which = threadIdx.x / tile;
    const bool there = query + row < a.seq;
    const float* const from = (which == 0 ? a.lse : a.delta) + (std::uint64_t{blockIdx.z} * a.heads + head) * a.seq +
                              (there ? query + row : 0);
    copy_async<4>(reinterpret_cast<float*>(q_tile + row * tile_pitch<T>(D) + D) + which, from, there);
}

template <class T, int D, bool drops>
__global__ void __launch_bounds__(threads_per_block, least_blocks<T>)
    keys_backward(AttentionArguments a, float inverse_root) {
    using Shape = Keys<T, D>;
    constexpr int MT = Shape::MT, tile = Shape::tile, NT = tile / 8, pitch = tile_pitch<T>(D);
    extern __shared__ __align__(16) unsigned char memory[];
    T* const k_tile = reinterpret_cast<T*>(memory);
    T* const v_tile = k_tile + owned<Shape> * pitch;
    T* const q_tiles = v_tile + owned<Shape> * pitch;
    T* const o_tiles = q_tiles + 2 * tile * pitch;

    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const std::uint32_t first = blockIdx.x * owned<Shape>, own = first + warp * 16 * MT;
    const std::uint32_t kv_head = blockIdx.y, group = a.heads / a.kv_heads;
    const std::uint64_t kv_stride = a.kv_stride;
    T* const own_k = k_tile + warp * 16 * MT * pitch;
    T* const own_v = v_tile + warp * 16 * MT * pitch;

    // The queries that see these keys, a tile at a time, for each head of the group.
    const std::uint32_t begin = a.causal ? first / tile : 0;
    const std::uint32_t each = (a.seq + tile - 1) / tile - begin, steps = group * each;
    const auto load_step = [&](std::uint32_t step) {
        const std::uint32_t head = kv_head * group + step / each, query = (begin + step % each) * tile,
                            buffer = step % 2;
        load_tile<T, D, tile>(q_tiles + buffer * tile * pitch, head_of<T, D>(a.q, a, a.q_stride, head), a.q_stride,
                              query, a.seq);
        load_tile<T, D, tile>(o_tiles + buffer * tile * pitch, head_of<T, D>(a.d_o, a, a.o_stride, head), a.o_stride,
                              query, a.seq);
        load_statistics<T, D, tile>(q_tiles + buffer * tile * pitch, a, head, query);
        commit_copies();
    };
    const auto round_step = [&](std::uint32_t step) {
        round_tile<T, D, tile>(q_tiles + step % 2 * tile * pitch);
        round_tile<T, D, tile>(o_tiles + step % 2 * tile * pitch);
        if (step > 0) return;
        round_tile<T, D, owned<Shape>>(k_tile);
        round_tile<T, D, owned<Shape>>(v_tile);
    };

    Sums<MT, D / 8> dk = {}, dv = {};
    load_tile<T, D, owned<Shape>>(k_tile, head_of<T, D>(a.k, a, kv_stride, kv_head), kv_stride, first, a.seq);
    load_tile<T, D, owned<Shape>>(v_tile, head_of<T, D>(a.v, a, kv_stride, kv_head), kv_stride, first, a.seq);
    load_step(0);
    for (std::uint32_t step = 0; step < steps; ++step) {
        begin_step(step, steps, load_step, round_step);
        const std::uint32_t buffer = step % 2, query = (begin + step % each) * tile;
        const T* const q_tile = q_tiles + buffer * tile * pitch;
        const T* const o_tile = o_tiles + buffer * tile * pitch;

        Sums<MT, NT> p, ds;  // transposed: rows are keys, columns queries
        rows_by_rows<T, D, MT, NT>(p, own_k, q_tile, lane);
        rows_by_rows<T, D, MT, NT>(ds, own_v, o_tile, lane);
        const bool masked = a.causal && query < own + 16 * MT - 1;
        const std::uint64_t dropped =
            mask_of_query<drops>(a.dropped, blockIdx.z, a.heads, kv_head * group + step / each, a.seq, query) + own;
        differentiate<MT, NT>(
            p, ds, lane, masked, inverse_root * log2_e, [&](Place16 at) { return own + at.row > query + at.col; },
            [&](int, int, Place16 at) { return *reinterpret_cast<const float2*>(q_tile + at.col * pitch + D); },
            [&](Place16 part, float(&by)[4]) {
                if constexpr (drops) factors_by_key(a.dropped, dropped, part, a.seq, lane, by);
            });
        registers_by_columns<T, D, MT, NT>(dv, p, o_tile, lane);
        registers_by_columns<T, D, MT, NT>(dk, ds, q_tile, lane);
        __syncthreads();  // the buffer may be filled again
    }

    const std::uint64_t offset = offset_of<D>(a, kv_stride, kv_head);
    store_sums<T, D, MT>(
        dk, [&](int, int) { return inverse_root; }, own_k, static_cast<T*>(a.dk) + offset, kv_stride, own, a.seq, lane);
    store_sums<T, D, MT>(
        dv, [](int, int) { return 1.0f; }, own_v, static_cast<T*>(a.dv) + offset, kv_stride, own, a.seq, lane);
}

template <class T, int D, bool drops>
__global__ void __launch_bounds__(threads_per_block) queries_backward(AttentionArguments a, float inverse_root) {
    using Shape = Queries<T, D>;
    constexpr int MT = Shape::MT, tile = Shape::tile, NT = tile / 8, pitch = tile_pitch<T>(D);
    extern __shared__ __align__(16) unsigned char memory[];
    T* const q_tile = reinterpret_cast<T*>(memory);
    T* const o_tile = q_tile + owned<Shape> * pitch;
    T* const k_tiles = o_tile + owned<Shape> * pitch;
    T* const v_tiles = k_tiles + 2 * tile * pitch;

    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const std::uint32_t first = (gridDim.x - 1 - blockIdx.x) * owned<Shape>, own = first + warp * 16 * MT;
    const std::uint32_t head = blockIdx.y, kv_head = head / (a.heads / a.kv_heads);
    const std::uint64_t kv_stride = a.kv_stride;
    T* const own_q = q_tile + warp * 16 * MT * pitch;
    const T* const own_o = o_tile + warp * 16 * MT * pitch;

    float2 statistics[MT][2];  // lse and delta of the thread's rows; 0 where there is no query
    const std::uint64_t first_row = (std::uint64_t{blockIdx.z} * a.heads + head) * a.seq;
#pragma unroll
    for (int m = 0; m < MT; ++m)
#pragma unroll
        for (int half = 0; half < 2; ++half) {
            const std::uint32_t row = own + 16 * m + result_at(lane, 2 * half).row;
            statistics[m][half] =
                row < a.seq ? make_float2(a.lse[first_row + row], a.delta[first_row + row]) : make_float2(0.0f, 0.0f);
        }

    const std::uint32_t seen = a.causal ? min(a.seq, first + owned<Shape>) : a.seq;
    const std::uint32_t steps = (seen + tile - 1) / tile;
    const T* const k = head_of<T, D>(a.k, a, kv_stride, kv_head);
    const T* const v = head_of<T, D>(a.v, a, kv_stride, kv_head);
    const auto load_step = [&](std::uint32_t step) {
        load_tile<T, D, tile>(k_tiles + step % 2 * tile * pitch, k, kv_stride, step * tile, a.seq);
        load_tile<T, D, tile>(v_tiles + step % 2 * tile * pitch, v, kv_stride, step * tile, a.seq);
        commit_copies();
    };
    const auto round_step = [&](std::uint32_t step) {
        round_tile<T, D, tile>(k_tiles + step % 2 * tile * pitch);
        round_tile<T, D, tile>(v_tiles + step % 2 * tile * pitch);
        if (step > 0) return;
        round_tile<T, D, owned<Shape>>(q_tile);
        round_tile<T, D, owned<Shape>>(o_tile);
    };

    const std::uint64_t dropped = mask_of_query<drops>(a.dropped, blockIdx.z, a.heads, head, a.seq, own);
    Sums<MT, D / 8> dq = {};
    load_tile<T, D, owned<Shape>>(q_tile, head_of<T, D>(a.q, a, a.q_stride, head), a.q_stride, first, a.seq);
    load_tile<T, D, owned<Shape>>(o_tile, head_of<T, D>(a.d_o, a, a.o_stride, head), a.o_stride, first, a.seq);
    load_step(0);
    for (std::uint32_t step = 0; step < steps; ++step) {
        begin_step(step, steps, load_step, round_step);
        const std::uint32_t key = step * tile;
        const T* const k_tile = k_tiles + step % 2 * tile * pitch;
        Sums<MT, NT> p, ds;
        rows_by_rows<T, D, MT, NT>(p, own_q, k_tile, lane);
        rows_by_rows<T, D, MT, NT>(ds, own_o, v_tiles + step % 2 * tile * pitch, lane);
        // Keys from seq on are zero, but their P need not be finite: they are masked too.
        differentiate<MT, NT>(
            p, ds, lane, key + tile > a.seq || (a.causal && key + tile > own + 1), inverse_root * log2_e,
            [&](Place16 at) { return key + at.col >= a.seq || (a.causal && key + at.col > own + at.row); },
            [&](int m, int i, Place16) { return statistics[m][i / 2]; },
            [&](Place16 part, float(&by)[4]) {
                if constexpr (drops) factors_by_query(a.dropped, dropped + key, part, a.seq, lane, by);
            });
        registers_by_columns<T, D, MT, NT>(dq, ds, k_tile, lane);
        __syncthreads();
    }
    T* const to = static_cast<T*>(a.dq) + offset_of<D>(a, a.q_stride, head);
    store_sums<T, D, MT>(
        dq, [&](int, int) { return inverse_root; }, own_q, to, a.q_stride, own, a.seq, lane);
}

}  // namespace

template <class T, int D>
void launch_backward(const Place& place, const AttentionArguments& a, std::uint32_t batch) {
    const float inverse_root = 1.0f / sqrtf(static_cast<float>(D));
    const std::uint64_t rows = std::uint64_t{batch} * a.seq * a.heads;
    row_dots<T, D><<<static_cast<unsigned>((rows + 31) / 32), 256, 0, place.stream>>>(a, rows);

    const auto run = [&](auto* kernel, int bytes, int rows_each, std::uint32_t heads) {
        check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes),
              "reserving shared memory for attention");
        const dim3 grid((a.seq + rows_each - 1) / rows_each, heads, batch);
        kernel<<<grid, threads_per_block, bytes, place.stream>>>(a, inverse_root);
    };
    const bool drops = a.dropped.threshold > 0;
    const auto run_keys = [&](auto* kernel) {
        run(kernel, shared_bytes<T, D, Keys<T, D>>, owned<Keys<T, D>>, a.kv_heads);
    };
    const auto run_queries = [&](auto* kernel) {
        run(kernel, shared_bytes<T, D, Queries<T, D>>, owned<Queries<T, D>>, a.heads);
    };
    drops ? run_keys(keys_backward<T, D, true>) : run_keys(keys_backward<T, D, false>);
    drops ? run_queries(queries_backward<T, D, true>) : run_queries(queries_backward<T, D, false>);
    check_launch("attention backward");
}

template void launch_backward<__half, 64>(const Place&, const AttentionArguments&, std::uint32_t);
template void launch_backward<__half, 80>(const Place&, const AttentionArguments&, std::uint32_t);
template void launch_backward<__half, 96>(const Place&, const AttentionArguments&, std::uint32_t);
template void launch_backward<__half, 128>(const Place&, const AttentionArguments&, std::uint32_t);
template void launch_backward<__nv_bfloat16, 64>(const Place&, const AttentionArguments&, std::uint32_t);
template void launch_backward<__nv_bfloat16, 80>(const Place&, const AttentionArguments&, std::uint32_t);
template void launch_backward<__nv_bfloat16, 96>(const Place&, const AttentionArguments&, std::uint32_t);
template void launch_backward<__nv_bfloat16, 128>(const Place&, const AttentionArguments&, std::uint32_t);
template void launch_backward<float, 64>(const Place&, const AttentionArguments&, std::uint32_t);
template void launch_backward<float, 80>(const Place&, const AttentionArguments&, std::uint32_t);
template void launch_backward<float, 96>(const Place&, const AttentionArguments&, std::uint32_t);
template void launch_backward<float, 128>(const Place&, const AttentionArguments&, std::uint32_t);

}  // namespace orrery::kernels::cuda
