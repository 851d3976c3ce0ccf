// Embedding: rows gathered by token, and their gradient scattered back, each table row adding its tokens in order.
#include "kernels/cuda/check.hpp"
#include "kernels/cuda/embedding.hpp"
#include "kernels/cuda/map.cuh"
#include "kernels/cuda/pointwise.hpp"

namespace orrery::kernels::cuda {

namespace {

/// Whether the table has the row: other rows are those of other ranks.
__device__ __forceinline__ bool inside(std::int32_t id, std::uint64_t table_rows) {
    return id >= 0 && static_cast<std::uint64_t>(id) < table_rows;
}

template <class T, int W>
struct Gather {
    const std::int32_t* ids;
    const T* table;
    T* y;
    std::uint32_t cols;
    std::uint64_t table_rows;
    __device__ void operator()(std::uint64_t r, std::uint32_t c) const {
        Vector<T, W> vector{};  // all bits zero: 0 in every format
        if (inside(ids[r], table_rows)) vector.read(table + static_cast<std::uint64_t>(ids[r]) * cols + c);
        vector.write(y + r * cols + c);
    }
};

// The gradient sorts tokens by id with integer counters only, so that sums are the same in every run: count the tokens
// of each id, give every id a segment, fill the segments in any order, then put each segment in order of token.

struct Count {
    const std::int32_t* ids;
    EmbeddingScratch s;
    std::uint64_t table_rows;
    __device__ void operator()(std::uint64_t i) const {
        if (inside(ids[i], table_rows)) s.slot[i] = atomicAdd(&s.count[ids[i]], 1u);
    }
};

struct Segment {
    EmbeddingScratch s;
    __device__ void operator()(std::uint64_t id) const {
        s.start[id] = s.count[id] == 0 ? 0 : atomicAdd(s.cursor, s.count[id]);
    }
};

struct Collect {
    const std::int32_t* ids;
    EmbeddingScratch s;
    std::uint64_t table_rows;
    __device__ void operator()(std::uint64_t i) const {
        if (!inside(ids[i], table_rows)) return;
        s.any_order[s.start[ids[i]] + s.slot[i]] = static_cast<std::uint32_t>(i);
    }
};

/// A token's place in its segment is the number of earlier tokens of the same id: work grows with the square of how
/// often one id occurs, spread over as many threads as it occurs.
struct Rank {
    const std::int32_t* ids;
    EmbeddingScratch s;
    std::uint64_t table_rows;
    __device__ void operator()(std::uint64_t i) const {
        if (!inside(ids[i], table_rows)) return;
        const std::uint32_t start = s.start[ids[i]], count = s.count[ids[i]];
        std::uint32_t before = 0;
        for (std::uint32_t j = 0; j < count; ++j) before += s.any_order[start + j] < i ? 1 : 0;
        s.in_order[start + before] = static_cast<std::uint32_t>(i);
    }
};

template <class T, class S, int W>
struct Scatter {
    const T* dy;
    S* dtable;
    EmbeddingScratch s;
    std::uint32_t cols;
    __device__ void operator()(std::uint64_t id, std::uint32_t c) const {
        const std::uint32_t count = s.count[id];
        if (count == 0) return;
        const std::uint32_t* const tokens = s.in_order + s.start[id];
        float sum[W], values[W];
        load(dtable + id * cols + c, sum);
        for (std::uint32_t j = 0; j < count; ++j) {
            load(dy + std::uint64_t{tokens[j]} * cols + c, values);
#pragma unroll
            for (int e = 0; e < W; ++e) sum[e] += values[e];
        }
        store(dtable + id * cols + c, sum);
    }
};

void sort_tokens(const Place& place, const EmbeddingScratch& s, const std::int32_t* ids, std::uint64_t rows,
                 std::uint64_t table) {
    check(cudaMemsetAsync(s.count, 0, (table + 1) * sizeof(std::uint32_t), place.stream), "clearing counters");
    map_flat<1>(place, Count{ids, s, table}, rows);
    map_flat<1>(place, Segment{s}, table);
    map_flat<1>(place, Collect{ids, s, table}, rows);
    map_flat<1>(place, Rank{ids, s, table}, rows);
}

}  // namespace

void launch_embedding(const Place& place, const Pointwise& p, Operands o) {
    const auto cols = static_cast<std::uint32_t>(p.cols);
    const auto* const ids = at<std::int32_t>(o, 0);
    const std::uint64_t table = table_rows(p, o.settings());
    const EmbeddingScratch scratch(place.scratch, table, p.rows);
    if (p.kind == PointwiseKind::embedding_backward) sort_tokens(place, scratch, ids, p.rows, table);
    with_element(p.dtype, [&](auto zero) {
        using T = decltype(zero);
        with_width<T>(p.cols, [&](auto W) {
            if (p.kind == PointwiseKind::embedding)
                map_rows<W.value>(place, Gather<T, W.value>{ids, at<T>(o, 1), at<T>(o, 2), cols, table}, p.rows,
                                  p.cols);
            else
                with_result<T>(o.settings(), [&](auto sum) {
                    using S = decltype(sum);
                    map_rows<W.value>(place, Scatter<T, S, W.value>{at<T>(o, 1), at<S>(o, 2), scratch, cols}, table,
                                      p.cols);
                });
        });
    });
}

}  // namespace orrery::kernels::cuda
