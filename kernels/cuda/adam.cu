// AdamW over one flat tensor, as frameworks run it over a bucket of parameters: fp32 state, low-precision copy.
#include <cmath>

#include "kernels/cuda/map.cuh"
#include "kernels/cuda/pointwise.hpp"
#include "kernels/cuda/step_update.hpp"
#include "kernels/operands.hpp"

namespace orrery::kernels::cuda {

namespace {

constexpr int width = 4;  ///< floats in 16 bytes

/// The settings with the bias corrections of the step worked out in double.
struct Step {
    float b1, b2, one_minus_b1, one_minus_b2, correct_m, correct_v, rate, epsilon, decay, factor;
};

Step step_of(const Settings& settings) {
    const Adam& a = settings.adam;
    return {static_cast<float>(a.b1),
            static_cast<float>(a.b2),
            static_cast<float>(1 - a.b1),
            static_cast<float>(1 - a.b2),
            static_cast<float>(1 / (1 - std::pow(a.b1, a.step))),
            static_cast<float>(1 / (1 - std::pow(a.b2, a.step))),
            static_cast<float>(a.rate),
            static_cast<float>(a.epsilon),
            static_cast<float>(a.decay),
            static_cast<float>(settings.scale_factor.value_or(1))};
}

template <class T, int W>
struct Update {
    Step s;
    const float* g;
    float *w, *m, *v;
    T* copy;
    const StepValues* live;
    __device__ void operator()(std::uint64_t i) const {
        if (live == nullptr) return update(i, s.correct_m, s.correct_v, s.factor);
        if (std::isfinite(live->overflow)) update(i, live->first_moment, live->second_moment, live->factor);
    }
    __device__ __forceinline__ void update(std::uint64_t i, float correct_m, float correct_v, float factor) const {
        float gradient[W], weight[W], first[W], second[W];
        load(g + i, gradient);
        load(w + i, weight);
        load(m + i, first);
        load(v + i, second);
#pragma unroll
        for (int e = 0; e < W; ++e) {
            const float scaled = factor * gradient[e];
            first[e] = s.b1 * first[e] + s.one_minus_b1 * scaled;
            second[e] = s.b2 * second[e] + s.one_minus_b2 * scaled * scaled;
            const float root = sqrtf(second[e] * correct_v) + s.epsilon;
            weight[e] -= s.rate * (first[e] * correct_m / root + s.decay * weight[e]);
        }
        store(w + i, weight);
        store(m + i, first);
        store(v + i, second);
        store(copy + i, weight);
    }
};

}  // namespace

void launch_adam(const Place& place, const Pointwise& p, Operands o) {
    const std::uint64_t n = p.rows * p.cols;
    const StepValues* const live = o.settings().live_update.values;
    if (live != nullptr) launch_form_factor(place, o.settings());
    with_element(p.dtype, [&](auto zero) {
        using T = decltype(zero);
        const auto run = [&](auto W) {
            const Update<T, W.value> f{step_of(o.settings()),
                                       at<float>(o, 0),
                                       at<float>(o, 1),
                                       at<float>(o, 2),
                                       at<float>(o, 3),
                                       at<T>(o, 4),
                                       live};
            map_flat<W.value>(place, f, n);
        };
        n % width == 0 ? run(std::integral_constant<int, width>{}) : run(std::integral_constant<int, 1>{});
    });
}

}  // namespace orrery::kernels::cuda
