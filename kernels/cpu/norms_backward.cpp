#include <algorithm>
#include <vector>

#include "kernels/cpu/clones.hpp"
#include "kernels/cpu/parallel.hpp"
#include "kernels/cpu/pointwise.hpp"

namespace orrery::kernels::cpu {

namespace {

/// One row of both backwards (RMSNorm: mean 0, centred false): dx, and what it adds to the gradients of the weights.
ORRERY_CLONED void norm_backward_row(const float* __restrict x, const float* __restrict gamma,
                                     const float* __restrict dy, float* __restrict dx, float* __restrict dgamma,
                                     float* __restrict dbeta, std::size_t cols, float mean, float rstd, bool centred) {
    float sum_g = 0, sum_gh = 0;
#pragma omp simd reduction(+ : sum_g, sum_gh)
    for (std::size_t c = 0; c < cols; ++c) {
        const float normal = (x[c] - mean) * rstd, g = dy[c] * gamma[c];
        sum_g += g;
        sum_gh += g * normal;
        dgamma[c] += dy[c] * normal;
        dbeta[c] += dy[c];
    }
    const float share = 1.0f / static_cast<float>(cols);
    const float mean_g = centred ? sum_g * share : 0.0f, mean_gh = sum_gh * share;
    for (std::size_t c = 0; c < cols; ++c) dx[c] = rstd * (dy[c] * gamma[c] - mean_g - (x[c] - mean) * rstd * mean_gh);
}

struct Operands {
    const float *x, *gamma, *dy, *mean, *rstd;  ///< mean: null for RMSNorm
    float *dx, *dgamma, *dbeta;                 ///< dbeta: null for RMSNorm
};

void add_into(float* sum, const std::vector<float>& parts, std::size_t cols, bool accumulate) {
    if (!accumulate) std::fill(sum, sum + cols, 0.0f);
    for (std::size_t at = 0; at < parts.size(); at += cols)
        for (std::size_t c = 0; c < cols; ++c) sum[c] += parts[at + c];
}

/// Each part of the rows sums the weights' gradients on its own.
void run(const Pointwise& p, const Operands& o, bool accumulate) {
    const int parts = parts_of(p.rows, least_elements / p.cols + 1);
    std::vector<float> dgamma(static_cast<std::size_t>(parts) * p.cols), dbeta(dgamma.size());
    split(p.rows, parts, 1, [&](int part, std::uint64_t begin, std::uint64_t end) {
        const std::size_t own = static_cast<std::size_t>(part) * p.cols;
        for (std::uint64_t r = begin; r < end; ++r)
            norm_backward_row(o.x + r * p.cols, o.gamma, o.dy + r * p.cols, o.dx + r * p.cols, dgamma.data() + own,
                              dbeta.data() + own, p.cols, o.mean != nullptr ? o.mean[r] : 0.0f, o.rstd[r],
                              o.mean != nullptr);
    });
    add_into(o.dgamma, dgamma, p.cols, accumulate);
    if (o.dbeta != nullptr) add_into(o.dbeta, dbeta, p.cols, accumulate);
}

}  // namespace

void run_layernorm_backward(const Pointwise& p, const Memory& m) {
    run(p, {m[0], m[1], m[2], m[3], m[4], m[5], m[6], m[7]}, m.settings().accumulate);
}

void run_rmsnorm_backward(const Pointwise& p, const Memory& m) {
    run(p, {m[0], m[1], m[2], nullptr, m[3], m[4], m[5], nullptr}, m.settings().accumulate);
}

}  // namespace orrery::kernels::cpu
