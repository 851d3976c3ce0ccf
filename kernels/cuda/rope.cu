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
    std::uint32_t cols, head, positions;
    float direction;  ///< 1, or -1 for the transposed rotation

    __device__ void operator()(std::uint64_t r, std::uint32_t c) const {
        float v[W], cosine[W / 2], sine[W / 2];
        load(x + r * cols + c, v);
        const std::uint32_t angle = static_cast<std::uint32_t>(r % positions) * (head / 2) + c % head / 2;
        load(cos + angle, cosine);
        load(sin + angle, sine);
#pragma unroll
        for (int e = 0; e < W / 2; ++e) {
            const float a = v[2 * e], b = v[2 * e + 1], s = direction * sine[e];
            v[2 * e] = a * cosine[e] - b * s;
            v[2 * e + 1] = a * s + b * cosine[e];
        }
        store(y + r * cols + c, v);
    }
};

template <class T, int W>
void launch(const Place& place, const Pointwise& p, Operands o) {
    const auto head = static_cast<std::uint32_t>(rope_head(p.cols));
    const auto positions = static_cast<std::uint32_t>(std::min(p.rows, rope_positions));
    const float direction = p.kind == PointwiseKind::rope ? 1.0f : -1.0f;
    const Rope<T, W> f{at<T>(o, 0), at<float>(o, 1), at<float>(o, 2), at<T>(o, 3), static_cast<std::uint32_t>(p.cols),
                       head,        positions,       direction};
    map_rows<W>(place, f, p.rows, p.cols);
}

}  // namespace

void launch_rope(const Place& place, const Pointwise& p, Operands o) {
    with_element(p.dtype, [&](auto zero) {
        using T = decltype(zero);
        // A vector lies in one head: full_width divides cols, both are powers of two or multiples, so it divides head.
        rows_aligned<T>(p.cols) ? launch<T, full_width<T>>(place, p, o) : launch<T, 2>(place, p, o);
    });
}

}  // namespace orrery::kernels::cuda
