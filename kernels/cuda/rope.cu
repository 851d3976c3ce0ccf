// Rotary position embedding: pairs of neighbouring columns turn by tabulated angles.
#include "kernels/cuda/map.cuh"
#include "kernels/cuda/pointwise.hpp"
#include "kernels/operands.hpp"

namespace orrery::kernels::cuda {

namespace {

template <class T, int W>
struct Rope {
    const T* x;
    const float *cos, *sin;  ///< [positions, head / 2]
    T* y;
    std::uint32_t stride, head, positions;
    float direction;  ///< 1, or -1 for the transposed rotation

    __device__ void operator()(std::uint64_t r, std::uint32_t c) const {
        float v[W], cosine[W / 2], sine[W / 2];
        load(x + r * stride + c, v);
        const std::uint32_t angle = static_cast<std::uint32_t>(r % positions) * (head / 2) + c % head / 2;
        load(cos + angle, cosine);
        load(sin + angle, sine);
#pragma unroll
        for (int e = 0; e < W / 2; ++e) {
            const float a = v[2 * e], b = v[2 * e + 1], s = direction * sine[e];
            v[2 * e] = a * cosine[e] - b * s;
            v[2 * e + 1] = a * s + b * cosine[e];
        }
        store(y + r * stride + c, v);
    }
};

std::uint64_t head_of(const Pointwise& p, const Settings& s) { return s.head != 0 ? s.head : rope_head(p.cols); }
std::uint64_t stride_of(const Pointwise& p, const Settings& s) { return s.row_stride != 0 ? s.row_stride : p.cols; }

template <class T, int W>
void launch(const Place& place, const Pointwise& p, Operands o) {
    const Settings& s = o.settings();
    const float direction = p.kind == PointwiseKind::rope ? 1.0f : -1.0f;
    const Rope<T, W> f{at<T>(o, 0),
                       at<float>(o, 1),
                       at<float>(o, 2),
                       at<T>(o, 3),
                       static_cast<std::uint32_t>(stride_of(p, s)),
                       static_cast<std::uint32_t>(head_of(p, s)),
                       static_cast<std::uint32_t>(s.positions != 0 ? s.positions : std::min(p.rows, rope_positions)),
                       direction};
    map_rows<W>(place, f, p.rows, p.cols);
}

}  // namespace

void launch_rope(const Place& place, const Pointwise& p, Operands o) {
    with_element(p.dtype, [&](auto zero) {
        using T = decltype(zero);
        const Settings& s = o.settings();
        const bool wide = rows_aligned<T>(p.cols) && rows_aligned<T>(head_of(p, s)) && rows_aligned<T>(stride_of(p, s));
        wide ? launch<T, full_width<T>>(place, p, o) : launch<T, 2>(place, p, o);
    });
}

}  // namespace orrery::kernels::cuda
