// Fused attention in fp32, for training in single precision: tiles of queries and keys in shared memory, products on
// the ordinary cores, heads of any length up to 128. Tensor cores know no fp32; attention_forward.cu has the others,
// and tf32 with the heads that it is compiled for. Forward as FlashAttention-2 (Dao 2023, algorithm 1). Backward takes
// two kernels, one that owns keys and one that owns queries, each of which forms the scores again: no atomic additions,
// so that sums keep their order.
#include <algorithm>

#include "kernels/cuda/attention_single.hpp"
#include "kernels/cuda/check.hpp"

namespace orrery::kernels::cuda {

namespace {

constexpr int side = 16, threads = side * side;  ///< a thread has rows y + 16 a and columns x + 16 b of a tile

/// T rows of a tensor, zero beyond its end and beyond the head. A row more than D apart: no two rows share a bank.
template <int T, int D>
struct Tile {
    static constexpr int pitch = D + 1, size = T * pitch;
    float* memory;
    __device__ __forceinline__ float at(int row, int d) const { return memory[row * pitch + d]; }
    __device__ __forceinline__ void fill(const float* from, std::uint64_t stride, std::uint32_t rows,
                                         std::uint32_t dim) const {
        for (int i = threadIdx.x; i < T * D; i += threads) {
            const std::uint32_t row = i / D, d = i % D;
            memory[row * pitch + d] = row < rows && d < dim ? from[row * stride + d] : 0.0f;
        }
    }
};

/// The thread's part of left right^T.
template <int T, int D>
__device__ __forceinline__ void scores(const Tile<T, D>& left, const Tile<T, D>& right,
                                       float (&out)[T / side][T / side]) {
    constexpr int R = T / side;
    const int x = threadIdx.x % side, y = threadIdx.x / side;
#pragma unroll
    for (int a = 0; a < R; ++a)
#pragma unroll
        for (int b = 0; b < R; ++b) out[a][b] = 0.0f;
#pragma unroll 4
    for (int d = 0; d < D; ++d) {
        float l[R], r[R];
#pragma unroll
        for (int a = 0; a < R; ++a) l[a] = left.at(y + side * a, d);
#pragma unroll
        for (int b = 0; b < R; ++b) r[b] = right.at(x + side * b, d);
#pragma unroll
        for (int a = 0; a < R; ++a)
#pragma unroll
            for (int b = 0; b < R; ++b) out[a][b] += l[a] * r[b];
    }
}

/// sum += weights values, or weights^T values; weights [T, T] in shared memory.
template <int T, int D, bool transposed>
__device__ __forceinline__ void add_product(const Tile<T, T>& weights, const Tile<T, D>& values,
                                            float (&sum)[T / side][D / side]) {
    constexpr int R = T / side, C = D / side;
    const int x = threadIdx.x % side, y = threadIdx.x / side;
#pragma unroll 4
    for (int k = 0; k < T; ++k) {
        float w[R], v[C];
#pragma unroll
        for (int a = 0; a < R; ++a) w[a] = transposed ? weights.at(k, y + side * a) : weights.at(y + side * a, k);
#pragma unroll
        for (int c = 0; c < C; ++c) v[c] = values.at(k, x + side * c);
#pragma unroll
        for (int a = 0; a < R; ++a)
#pragma unroll
            for (int c = 0; c < C; ++c) sum[a][c] += w[a] * v[c];
    }
}

template <int T, int D>
__device__ __forceinline__ void write_rows(float* to, std::uint64_t stride, std::uint32_t rows, std::uint32_t dim,
                                           const float (&values)[T / side][D / side]) {
    const std::uint32_t x = threadIdx.x % side, y = threadIdx.x / side;
#pragma unroll
    for (int a = 0; a < T / side; ++a)
#pragma unroll
        for (int c = 0; c < D / side; ++c)
            if (y + side * a < rows && x + side * c < dim) to[(y + side * a) * stride + x + side * c] = values[a][c];
}

/// Over the 16 threads that share a tile's row: half a warp.
__device__ __forceinline__ float row_max(float value) {
#pragma unroll
    for (int lane = side / 2; lane > 0; lane /= 2) value = fmaxf(value, __shfl_xor_sync(0xffffffffu, value, lane));
    return value;
}
__device__ __forceinline__ float row_sum(float value) {
#pragma unroll
    for (int lane = side / 2; lane > 0; lane /= 2) value += __shfl_xor_sync(0xffffffffu, value, lane);
    return value;
}

__device__ __forceinline__ bool visible(const SingleAttention& s, std::uint32_t query, std::uint32_t key) {
    return query < s.seq && key < s.seq && (!s.causal || key <= query);
}

/// What a probability is multiplied by where it weighs values. mask: where the head's dropout begins.
template <bool drops>
__device__ __forceinline__ float factor_of(const SingleAttention& s, std::uint64_t mask, std::uint64_t query,
                                           std::uint32_t key) {
    if constexpr (drops) return s.dropped.factor(mask + query * s.seq + key);
    return 1.0f;
}

/// drops: a kernel of its own, so that attention without a dropout keeps its registers.
template <int T, int D, bool drops>
__global__ void __launch_bounds__(threads) forward(SingleAttention s) {
    extern __shared__ float shared[];
    constexpr int R = T / side;
    const Tile<T, D> q{shared}, kv{shared + Tile<T, D>::size};
    const Tile<T, T> p{kv.memory + Tile<T, D>::size};
    const std::uint32_t head = blockIdx.y, kv_head = head / (s.heads / s.kv_heads), batch = blockIdx.z;
    const std::uint32_t first = blockIdx.x * T, x = threadIdx.x % side, y = threadIdx.x / side;
    q.fill(s.q + s.query(batch, first, head), s.q_stride, s.seq - first, s.dim);
    const std::uint64_t mask = s.mask(batch, head);
    float largest[R], sum[R], o[R][D / side] = {};
#pragma unroll
    for (int a = 0; a < R; ++a) largest[a] = -INFINITY, sum[a] = 0.0f;
    const std::uint32_t end = s.causal ? min(first + T, s.seq) : s.seq;
    for (std::uint32_t key = 0; key < end; key += T) {
        __syncthreads();
        kv.fill(s.k + s.key(batch, key, kv_head), s.kv_stride, s.seq - key, s.dim);
        __syncthreads();
        float score[R][R];
        scores(q, kv, score);
#pragma unroll
        for (int a = 0; a < R; ++a) {
            float top = largest[a];
#pragma unroll
            for (int b = 0; b < R; ++b) {
                if (visible(s, first + y + side * a, key + x + side * b))
                    score[a][b] *= s.scale;
                else
                    score[a][b] = -INFINITY;
                top = fmaxf(top, score[a][b]);
            }
            top = row_max(top);
            const float safe = top == -INFINITY ? 0.0f : top;  // a row beyond the last query sees no key
            const float shrink = __expf(largest[a] - safe);
            float part = 0.0f;
#pragma unroll
            for (int b = 0; b < R; ++b) {
                const float weight = __expf(score[a][b] - safe);
                p.memory[(y + side * a) * Tile<T, T>::pitch + x + side * b] =
                    weight * factor_of<drops>(s, mask, first + y + side * a, key + x + side * b);
                part += weight;
            }
            sum[a] = sum[a] * shrink + row_sum(part);
            largest[a] = top;
#pragma unroll
            for (int c = 0; c < D / side; ++c) o[a][c] *= shrink;
        }
        __syncthreads();
        kv.fill(s.v + s.key(batch, key, kv_head), s.kv_stride, s.seq - key, s.dim);
        __syncthreads();
        add_product<T, D, false>(p, kv, o);
    }
#pragma unroll
    for (int a = 0; a < R; ++a) {
        const std::uint32_t query = first + y + side * a;
#pragma unroll
        for (int c = 0; c < D / side; ++c) o[a][c] /= sum[a];
        if (x == 0 && query < s.seq) s.lse[s.row(batch, head) + query] = largest[a] + logf(sum[a]);
    }
    write_rows<T, D>(s.o + s.output(batch, first, head), s.o_stride, s.seq - first, s.dim, o);
}

/// delta = sum over a row of do times o: a warp a row.
__global__ void __launch_bounds__(threads) row_products(SingleAttention s, std::uint64_t rows) {
    const std::uint64_t row = (std::uint64_t{blockIdx.x} * threads + threadIdx.x) / 32;
    if (row >= rows) return;
    const std::uint32_t query = row % s.seq, head = row / s.seq % s.heads, batch = row / s.seq / s.heads;
    const std::uint64_t from = s.output(batch, query, head);
    float sum = 0.0f;
    for (std::uint32_t d = threadIdx.x % 32; d < s.dim; d += 32) sum += s.o[from + d] * s.d_o[from + d];
#pragma unroll
    for (int lane = 16; lane > 0; lane /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, lane);
    if (threadIdx.x % 32 == 0) s.delta[row] = sum;
}

/// The four tiles and two matrices of weights of a backward kernel.
template <int T, int D>
struct Backward {
    Tile<T, D> q, k, v, d_o;
    Tile<T, T> p, ds;
    static constexpr int size = 4 * Tile<T, D>::size + 2 * Tile<T, T>::size;
    __device__ explicit Backward(float* m)
        : q{m},
          k{m + Tile<T, D>::size},
          v{m + 2 * Tile<T, D>::size},
          d_o{m + 3 * Tile<T, D>::size},
          p{m + 4 * Tile<T, D>::size},
          ds{m + 4 * Tile<T, D>::size + Tile<T, T>::size} {}

    /// P = exp(scale q k - lse), p = P times its dropout's factor, ds = scale P (factor do v - delta); rows are
    /// queries.
    template <bool drops>
    __device__ __forceinline__ void weigh(const SingleAttention& s, std::uint32_t batch, std::uint32_t head,
                                          std::uint32_t query, std::uint32_t key) const {
        const std::uint64_t rows = s.row(batch, head), mask = s.mask(batch, head);
        constexpr int R = T / side;
        const std::uint32_t x = threadIdx.x % side, y = threadIdx.x / side;
        float score[R][R], gradient[R][R];
        scores(q, k, score);
        scores(d_o, v, gradient);
#pragma unroll
        for (int a = 0; a < R; ++a) {
            const std::uint32_t row = query + y + side * a;
            const float lse = row < s.seq ? s.lse[rows + row] : 0.0f, delta = row < s.seq ? s.delta[rows + row] : 0.0f;
#pragma unroll
            for (int b = 0; b < R; ++b) {
                const bool seen = visible(s, row, key + x + side * b);
                const float weight = seen ? __expf(s.scale * score[a][b] - lse) : 0.0f;
                const int place = (y + side * a) * Tile<T, T>::pitch + x + side * b;
                const float factor = factor_of<drops>(s, mask, row, key + x + side * b);
                p.memory[place] = weight * factor;
                ds.memory[place] = s.scale * weight * (gradient[a][b] * factor - delta);
            }
        }
    }
};

template <int T, int D, bool drops>
__global__ void __launch_bounds__(threads) backward_keys(SingleAttention s) {
    extern __shared__ float shared[];
    const Backward<T, D> t(shared);
    const std::uint32_t first = blockIdx.x * T, kv_head = blockIdx.y, batch = blockIdx.z;
    const std::uint32_t group = s.heads / s.kv_heads;
    t.k.fill(s.k + s.key(batch, first, kv_head), s.kv_stride, s.seq - first, s.dim);
    t.v.fill(s.v + s.key(batch, first, kv_head), s.kv_stride, s.seq - first, s.dim);
    float dk[T / side][D / side] = {}, dv[T / side][D / side] = {};
    for (std::uint32_t head = kv_head * group; head < (kv_head + 1) * group; ++head)
        for (std::uint32_t query = s.causal ? first : 0; query < s.seq; query += T) {
            __syncthreads();
            t.q.fill(s.q + s.query(batch, query, head), s.q_stride, s.seq - query, s.dim);
            t.d_o.fill(s.d_o + s.output(batch, query, head), s.o_stride, s.seq - query, s.dim);
            __syncthreads();
            t.template weigh<drops>(s, batch, head, query, first);
            __syncthreads();
            add_product<T, D, true>(t.p, t.d_o, dv);
            add_product<T, D, true>(t.ds, t.q, dk);
        }
    write_rows<T, D>(s.dk + s.key(batch, first, kv_head), s.kv_stride, s.seq - first, s.dim, dk);
    write_rows<T, D>(s.dv + s.key(batch, first, kv_head), s.kv_stride, s.seq - first, s.dim, dv);
}

template <int T, int D, bool drops>
__global__ void __launch_bounds__(threads) backward_queries(SingleAttention s) {
    extern __shared__ float shared[];
    const Backward<T, D> t(shared);
    const std::uint32_t first = blockIdx.x * T, head = blockIdx.y, batch = blockIdx.z;
    const std::uint32_t kv_head = head / (s.heads / s.kv_heads);
    t.q.fill(s.q + s.query(batch, first, head), s.q_stride, s.seq - first, s.dim);
    t.d_o.fill(s.d_o + s.output(batch, first, head), s.o_stride, s.seq - first, s.dim);
    float dq[T / side][D / side] = {};
    const std::uint32_t end = s.causal ? min(first + T, s.seq) : s.seq;
    for (std::uint32_t key = 0; key < end; key += T) {
        __syncthreads();
        t.k.fill(s.k + s.key(batch, key, kv_head), s.kv_stride, s.seq - key, s.dim);
        t.v.fill(s.v + s.key(batch, key, kv_head), s.kv_stride, s.seq - key, s.dim);
        __syncthreads();
        t.template weigh<drops>(s, batch, head, first, key);
        __syncthreads();
        add_product<T, D, false>(t.ds, t.k, dq);
    }
    write_rows<T, D>(s.dq + s.query(batch, first, head), s.q_stride, s.seq - first, s.dim, dq);
}

template <class Kernel>
void launch(Kernel kernel, dim3 grid, int floats, const Place& place, const SingleAttention& s) {
    const int bytes = floats * static_cast<int>(sizeof(float));
    check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes), "asking for shared memory");
    kernel<<<grid, threads, bytes, place.stream>>>(s);
    check_launch("attention in fp32");
}

template <int T, int D, bool drops>
void launch_backward(const Place& place, const SingleAttention& s, std::uint32_t batch) {
    const std::uint64_t rows = std::uint64_t{batch} * s.heads * s.seq;
    row_products<<<static_cast<unsigned>((rows * 32 + threads - 1) / threads), threads, 0, place.stream>>>(s, rows);
    check_launch("attention in fp32");
    const unsigned tiles = (s.seq + T - 1) / T;
    launch(backward_keys<T, D, drops>, dim3(tiles, s.kv_heads, batch), Backward<T, D>::size, place, s);
    launch(backward_queries<T, D, drops>, dim3(tiles, s.heads, batch), Backward<T, D>::size, place, s);
}

// Tiles fit the 99 KiB that a block may have on the smaller of Ampere's and Ada's GPUs.
template <int D, bool drops>
void launch_head(const Place& place, const SingleAttention& s, std::uint32_t batch, bool backward) {
    constexpr int T = 64;
    if (backward)
        launch_backward<(D > 64 ? 32 : 64), D, drops>(place, s, batch);
    else
        launch(forward<T, D, drops>, dim3((s.seq + T - 1) / T, s.heads, batch), 2 * Tile<T, D>::size + Tile<T, T>::size,
               place, s);
}

template <bool drops>
void launch_any_head(const Place& place, const SingleAttention& s, std::uint32_t batch, bool backward) {
    if (s.dim <= 32)
        launch_head<32, drops>(place, s, batch, backward);
    else if (s.dim <= 64)
        launch_head<64, drops>(place, s, batch, backward);
    else
        launch_head<128, drops>(place, s, batch, backward);
}

}  // namespace

void launch_single_attention(const Place& place, const SingleAttention& s, std::uint32_t batch, bool backward) {
    s.dropped.threshold > 0 ? launch_any_head<true>(place, s, batch, backward)
                            : launch_any_head<false>(place, s, batch, backward);
}

}  // namespace orrery::kernels::cuda
