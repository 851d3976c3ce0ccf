// GELU with its bias, SwiGLU, and ReLU.
#include "kernels/cuda/map.cuh"
#include "kernels/cuda/pointwise.hpp"

namespace orrery::kernels::cuda {

namespace {

constexpr float root_2_over_pi = 0.7978845608028654f, cubic = 0.044715f;

/// tanh by one exponential: 1 - 2 / (e^2u + 1), which saturates at +-1 without overflow. Its error is absolute, about
/// 1e-7, and it is added to 1 wherever it is used.
__device__ __forceinline__ float tanh_of(float u) { return 1.0f - 2.0f / (__expf(2.0f * u) + 1.0f); }

__device__ __forceinline__ float sigmoid(float x) { return 1.0f / (1.0f + __expf(-x)); }

template <class T, int W>
struct Gelu {
    const T *x, *bias;
    T* y;
    std::uint32_t cols;
    __device__ void operator()(std::uint64_t r, std::uint32_t c) const {
        float v[W], b[W];
        load(x + r * cols + c, v);
        load(bias + c, b);
#pragma unroll
        for (int e = 0; e < W; ++e) {
            const float t = v[e] + b[e];
            v[e] = 0.5f * t * (1.0f + tanh_of(root_2_over_pi * (t + cubic * t * t * t)));
        }
        store(y + r * cols + c, v);
    }
};

template <class T, int W>
struct GeluBackward {
    const T *x, *bias, *dy;
    T* dx;
    std::uint32_t cols;
    __device__ void operator()(std::uint64_t r, std::uint32_t c) const {
        float v[W], b[W], g[W];
        load(x + r * cols + c, v);
        load(dy + r * cols + c, g);
        load(bias + c, b);
#pragma unroll
        for (int e = 0; e < W; ++e) {
            const float t = v[e] + b[e];
            const float tanh = tanh_of(root_2_over_pi * (t + cubic * t * t * t));
            const float slope = root_2_over_pi * (1.0f + 3.0f * cubic * t * t);
            g[e] *= 0.5f * (1.0f + tanh) + 0.5f * t * (1.0f - tanh * tanh) * slope;
        }
        store(dx + r * cols + c, g);
    }
};

/// x is [rows, 2 cols]: the gate, then the linear part.
template <class T, int W>
struct Swiglu {
    const T* x;
    T* y;
    std::uint32_t cols;
    __device__ void operator()(std::uint64_t r, std::uint32_t c) const {
        float gate[W], up[W];
        load(x + 2 * r * cols + c, gate);
        load(x + (2 * r + 1) * cols + c, up);
#pragma unroll
        for (int e = 0; e < W; ++e) up[e] *= gate[e] * sigmoid(gate[e]);
        store(y + r * cols + c, up);
    }
};

template <class T, int W>
struct SwigluBackward {
    const T *x, *dy;
    T* dx;
    std::uint32_t cols;
    __device__ void operator()(std::uint64_t r, std::uint32_t c) const {
        float gate[W], up[W], g[W];
        load(x + 2 * r * cols + c, gate);
        load(x + (2 * r + 1) * cols + c, up);
        load(dy + r * cols + c, g);
#pragma unroll
        for (int e = 0; e < W; ++e) {
            const float s = sigmoid(gate[e]), silu = gate[e] * s;
            gate[e] = g[e] * up[e] * (s + silu * (1.0f - s));
            up[e] = g[e] * silu;
        }
        store(dx + 2 * r * cols + c, gate);
        store(dx + (2 * r + 1) * cols + c, up);
    }
};

template <class T, int W>
struct Relu {
    const T* x;
    T* y;
    std::uint32_t cols;
    __device__ void operator()(std::uint64_t r, std::uint32_t c) const {
        float v[W];
        load(x + r * cols + c, v);
#pragma unroll
        for (int e = 0; e < W; ++e) v[e] = fmaxf(v[e], 0.0f);
        store(y + r * cols + c, v);
    }
};

template <class T, int W>
struct ReluBackward {
    const T *y, *dy;
    T* dx;
    std::uint32_t cols;
    __device__ void operator()(std::uint64_t r, std::uint32_t c) const {
        float v[W], g[W];
        load(y + r * cols + c, v);
        load(dy + r * cols + c, g);
#pragma unroll
        for (int e = 0; e < W; ++e) g[e] = v[e] > 0.0f ? g[e] : 0.0f;
        store(dx + r * cols + c, g);
    }
};

template <class T, int W>
void launch(const Place& place, const Pointwise& p, Operands o) {
    const auto cols = static_cast<std::uint32_t>(p.cols);
    const auto run = [&](auto f) { map_rows<W>(place, f, p.rows, p.cols); };
    if (p.kind == PointwiseKind::gelu)
        run(Gelu<T, W>{at<T>(o, 0), at<T>(o, 1), at<T>(o, 2), cols});
    else if (p.kind == PointwiseKind::gelu_backward)
        run(GeluBackward<T, W>{at<T>(o, 0), at<T>(o, 1), at<T>(o, 2), at<T>(o, 3), cols});
    else if (p.kind == PointwiseKind::swiglu)
        run(Swiglu<T, W>{at<T>(o, 0), at<T>(o, 1), cols});
    else if (p.kind == PointwiseKind::swiglu_backward)
        run(SwigluBackward<T, W>{at<T>(o, 0), at<T>(o, 1), at<T>(o, 2), cols});
    else if (p.kind == PointwiseKind::relu)
        run(Relu<T, W>{at<T>(o, 0), at<T>(o, 1), cols});
    else
        run(ReluBackward<T, W>{at<T>(o, 0), at<T>(o, 1), at<T>(o, 2), cols});
}

}  // namespace

void launch_activation(const Place& place, const Pointwise& p, Operands o) {
    with_element(p.dtype, [&](auto zero) {
        using T = decltype(zero);
        with_width<T>(p.cols, [&](auto width) { launch<T, width.value>(place, p, o); });
    });
}

}  // namespace orrery::kernels::cuda
