// GELU with its bias, SwiGLU, what may stand in their place (Settings::function), and ReLU.
#include "kernels/cuda/map.cuh"
#include "kernels/cuda/pointwise.hpp"

namespace orrery::kernels::cuda {

namespace {

constexpr float root_2_over_pi = 0.7978845608028654f, cubic = 0.044715f;

/// tanh by one exponential: 1 - 2 / (e^2u + 1), which saturates at +-1 without overflow. Its error is absolute, about
/// 1e-7, and it is added to 1 wherever it is used.
__device__ __forceinline__ float tanh_of(float u) { return 1.0f - 2.0f / (__expf(2.0f * u) + 1.0f); }

__device__ __forceinline__ float sigmoid(float x) { return 1.0f / (1.0f + __expf(-x)); }

/// Functions: their values and slopes.
struct GeluOf {
    __device__ static float value(float t) {
        return 0.5f * t * (1.0f + tanh_of(root_2_over_pi * (t + cubic * t * t * t)));
    }
    __device__ static float slope(float t) {
        const float tanh = tanh_of(root_2_over_pi * (t + cubic * t * t * t));
        const float inner = root_2_over_pi * (1.0f + 3.0f * cubic * t * t);
        return 0.5f * (1.0f + tanh) + 0.5f * t * (1.0f - tanh * tanh) * inner;
    }
};
struct SiluOf {
    __device__ static float value(float t) { return t * sigmoid(t); }
    __device__ static float slope(float t) {
        const float s = sigmoid(t), silu = t * s;
        return s + silu * (1.0f - s);
    }
};
struct ReluOf {
    __device__ static float value(float t) { return fmaxf(t, 0.0f); }
    __device__ static float slope(float t) { return t > 0.0f ? 1.0f : 0.0f; }
};
struct SquaredReluOf {
    __device__ static float value(float t) { return t > 0.0f ? t * t : 0.0f; }
    __device__ static float slope(float t) { return t > 0.0f ? 2.0f * t : 0.0f; }
};

/// y = F(x + bias).
template <class T, int W, class F>
struct Biased {
    const T *x, *bias;
    T* y;
    std::uint32_t cols;
    __device__ void operator()(std::uint64_t r, std::uint32_t c) const {
        float v[W], b[W];
        load(x + r * cols + c, v);
        load(bias + c, b);
#pragma unroll
        for (int e = 0; e < W; ++e) v[e] = F::value(v[e] + b[e]);
        store(y + r * cols + c, v);
    }
};

template <class T, int W, class F>
struct BiasedBackward {
    const T *x, *bias, *dy;
    T* dx;
    std::uint32_t cols;
    __device__ void operator()(std::uint64_t r, std::uint32_t c) const {
        float v[W], b[W], g[W];
        load(x + r * cols + c, v);
        load(dy + r * cols + c, g);
        load(bias + c, b);
#pragma unroll
        for (int e = 0; e < W; ++e) g[e] *= F::slope(v[e] + b[e]);
        store(dx + r * cols + c, g);
    }
};

/// x is [rows, 2 cols]: the gate, then the linear part.
template <class T, int W, class F>
struct Gated {
    const T* x;
    T* y;
    std::uint32_t cols;
    __device__ void operator()(std::uint64_t r, std::uint32_t c) const {
        float gate[W], up[W];
        load(x + 2 * r * cols + c, gate);
        load(x + (2 * r + 1) * cols + c, up);
#pragma unroll
        for (int e = 0; e < W; ++e) up[e] *= F::value(gate[e]);
        store(y + r * cols + c, up);
    }
};

template <class T, int W, class F>
struct GatedBackward {
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
            const float slope = F::slope(gate[e]), value = F::value(gate[e]);
            gate[e] = g[e] * up[e] * slope;
            up[e] = g[e] * value;
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

template <class T, int W, class F>
void launch_with(const Place& place, const Pointwise& p, Operands o) {
    const auto cols = static_cast<std::uint32_t>(p.cols);
    const auto run = [&](auto f) { map_rows<W>(place, f, p.rows, p.cols); };
    if (p.kind == PointwiseKind::gelu)
        run(Biased<T, W, F>{at<T>(o, 0), at<T>(o, 1), at<T>(o, 2), cols});
    else if (p.kind == PointwiseKind::gelu_backward)
        run(BiasedBackward<T, W, F>{at<T>(o, 0), at<T>(o, 1), at<T>(o, 2), at<T>(o, 3), cols});
    else if (p.kind == PointwiseKind::swiglu)
        run(Gated<T, W, F>{at<T>(o, 0), at<T>(o, 1), cols});
    else if (p.kind == PointwiseKind::swiglu_backward)
        run(GatedBackward<T, W, F>{at<T>(o, 0), at<T>(o, 1), at<T>(o, 2), cols});
    else if (p.kind == PointwiseKind::relu)
        run(Relu<T, W>{at<T>(o, 0), at<T>(o, 1), cols});
    else
        run(ReluBackward<T, W>{at<T>(o, 0), at<T>(o, 1), at<T>(o, 2), cols});
}

/// By its name, or what the launch is told.
template <class T, int W>
void launch(const Place& place, const Pointwise& p, Operands o) {
    const bool gated = p.kind == PointwiseKind::swiglu || p.kind == PointwiseKind::swiglu_backward;
    switch (o.settings().function) {
        case Function::own: break;
        case Function::gelu: return launch_with<T, W, GeluOf>(place, p, o);
        case Function::silu: return launch_with<T, W, SiluOf>(place, p, o);
        case Function::relu: return launch_with<T, W, ReluOf>(place, p, o);
        case Function::squared_relu: return launch_with<T, W, SquaredReluOf>(place, p, o);
    }
    gated ? launch_with<T, W, SiluOf>(place, p, o) : launch_with<T, W, GeluOf>(place, p, o);
}

}  // namespace

void launch_activation(const Place& place, const Pointwise& p, Operands o) {
    with_element(p.dtype, [&](auto zero) {
        using T = decltype(zero);
        with_width<T>(p.cols, [&](auto width) { launch<T, width.value>(place, p, o); });
    });
}

}  // namespace orrery::kernels::cuda
