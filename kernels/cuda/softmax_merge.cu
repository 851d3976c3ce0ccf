// log_add_exp and softmax_merge: attention over a part of the keys, brought into that over all.
#include "kernels/cuda/map.cuh"
#include "kernels/cuda/pointwise.hpp"
#include "kernels/operands.hpp"

namespace orrery::kernels::cuda {

namespace {

struct LogAddExp {
    const float *a, *b;
    float* c;
    std::uint64_t stride;
    __device__ void operator()(std::uint64_t row, std::uint32_t column) const {
        const std::uint64_t i = row * stride + column;
        const float x = a[i], y = b[i], larger = fmaxf(x, y);
        c[i] = larger + log1pf(expf(fminf(x, y) - larger));
    }
};

/// y += e^(part - whole) x, W columns of one head at a time.
template <class T, int W>
struct Merge {
    const T* x;
    const float *part, *whole;
    T* y;
    std::uint64_t cols, queries, stride;
    std::uint32_t head;
    __device__ void operator()(std::uint64_t row, std::uint32_t column) const {
        const std::uint64_t heads = cols / head;
        const std::uint64_t lse = (row / queries * heads + column / head) * stride + row % queries;
        const float factor = expf(part[lse] - whole[lse]);
        const std::uint64_t i = row * cols + column;
        float in[W], out[W];
        load(x + i, in);
        load(y + i, out);
#pragma unroll
        for (int e = 0; e < W; ++e) out[e] += factor * in[e];
        store(y + i, out);
    }
};

}  // namespace

void launch_softmax_merge(const Place& place, const Pointwise& p, Operands o) {
    const Settings& settings = o.settings();
    if (p.kind == PointwiseKind::log_add_exp) {
        const std::uint64_t stride = settings.row_stride != 0 ? settings.row_stride : p.cols;
        map_rows<1>(place, LogAddExp{at<float>(o, 0), at<float>(o, 1), at<float>(o, 2), stride}, p.rows, p.cols);
        return;
    }
    const std::uint64_t head = settings.head != 0 ? settings.head : rope_head(p.cols);
    const std::uint64_t queries = settings.positions != 0 ? settings.positions : p.rows;
    const std::uint64_t stride = settings.lse_stride != 0 ? settings.lse_stride : queries;
    with_element(p.dtype, [&](auto zero) {
        using T = decltype(zero);
        with_width<T>(head, [&](auto width) {
            constexpr int W = width.value;
            map_rows<W>(place,
                        Merge<T, W>{at<T>(o, 0), at<float>(o, 1), at<float>(o, 2), at<T>(o, 3), p.cols, queries, stride,
                                    static_cast<std::uint32_t>(head)},
                        p.rows, p.cols);
        });
    });
}

}  // namespace orrery::kernels::cuda
