#include "kernels/operands.hpp"
#include "kernels/reference/parts.hpp"

namespace orrery::kernels {

namespace {

/// Mean and reciprocal deviation of a row; RMSNorm takes its mean as 0.
struct Statistics {
    double mean = 0, rstd = 0;
};

Statistics statistics(const Values& x, std::uint64_t row, std::uint64_t cols, bool centred) {
    const auto n = static_cast<double>(cols);
    const std::uint64_t at = row * cols;
    Statistics s;
    if (centred) s.mean = sum(cols, [&](std::uint64_t c) { return x[at + c]; }) / n;
    const double squares = sum(cols, [&](std::uint64_t c) { return std::pow(x[at + c] - s.mean, 2); });
    s.rstd = 1.0 / std::sqrt(squares / n + norm_epsilon);
    return s;
}

double forward(const Pointwise& p, Before v, std::size_t operand, std::uint64_t index) {
    const bool centred = p.kind == PointwiseKind::layernorm;
    const std::size_t y = centred ? 3 : 2;
    const std::uint64_t row = operand == y ? index / p.cols : index, c = index % p.cols;
    const Statistics s = statistics(v[0], row, p.cols, centred);
    if (operand == y) return (v[0][index] - s.mean) * s.rstd * v[1][c] + (centred ? v[2][c] : 0.0);
    return centred && operand == 4 ? s.mean : s.rstd;
}

/// x gamma dy [mean] rstd -> dx dgamma [dbeta]
double backward(const Pointwise& p, Before v, std::size_t operand, std::uint64_t index) {
    const bool centred = p.kind == PointwiseKind::layernorm_backward;
    const std::size_t dx = centred ? 5 : 4;
    const Values &x = v[0], &gamma = v[1], &dy = v[2], &rstd = v[centred ? 4 : 3];
    const auto normal = [&](std::uint64_t r, std::uint64_t c) {
        return (x[r * p.cols + c] - (centred ? v[3][r] : 0.0)) * rstd[r];
    };
    if (operand == dx + 2) return sum(p.rows, [&](std::uint64_t r) { return dy[r * p.cols + index]; });
    if (operand == dx + 1)
        return sum(p.rows, [&](std::uint64_t r) { return dy[r * p.cols + index] * normal(r, index); });
    const std::uint64_t r = index / p.cols, at = r * p.cols, own = index % p.cols;
    const auto n = static_cast<double>(p.cols);
    const auto g = [&](std::uint64_t c) { return dy[at + c] * gamma[c]; };
    const double mean_g = centred ? sum(p.cols, g) / n : 0.0;
    const double mean_gh = sum(p.cols, [&](std::uint64_t c) { return g(c) * normal(r, c); }) / n;
    return rstd[r] * (g(own) - mean_g - normal(r, own) * mean_gh);
}

/// Of dx = rstd (g - mean(g) - h mean(g h)).
double magnitude_of_dx(const Pointwise& p, Before v, std::uint64_t index) {
    const bool centred = p.kind == PointwiseKind::layernorm_backward;
    const Values &x = v[0], &gamma = v[1], &dy = v[2], &rstd = v[centred ? 4 : 3];
    const std::uint64_t r = index / p.cols, at = r * p.cols, own = index % p.cols;
    const auto n = static_cast<double>(p.cols);
    const auto g = [&](std::uint64_t c) { return dy[at + c] * gamma[c]; };
    const auto h = [&](std::uint64_t c) { return (x[at + c] - (centred ? v[3][r] : 0.0)) * rstd[r]; };
    const double mean_g = centred ? root_of_squares(p.cols, g) / n : 0.0;
    const double mean_gh = root_of_squares(p.cols, [&](std::uint64_t c) { return g(c) * h(c); }) / n;
    return rstd[r] * std::hypot(g(own), mean_g, h(own) * mean_gh);
}

}  // namespace

double magnitude_norm(const Pointwise& p, Before v, std::size_t operand, std::uint64_t index) {
    const std::size_t dx = p.kind == PointwiseKind::layernorm_backward ? 5 : 4;
    return operand == dx ? magnitude_of_dx(p, v, index) : 0.0;
}

double reference_norm(const Pointwise& p, Before v, std::size_t operand, std::uint64_t index) {
    const bool is_forward = p.kind == PointwiseKind::layernorm || p.kind == PointwiseKind::rmsnorm;
    return is_forward ? forward(p, v, operand, index) : backward(p, v, operand, index);
}

}  // namespace orrery::kernels
