#include "calibrate/kriging.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

namespace orrery::calibrate {

namespace {

/// Points that the settings are chosen with: more would cost the cube and change little.
constexpr std::size_t most_for_choice = 220;
/// Below this spread (relative, since values are logarithms) readings do not repeat anyway.
constexpr double least_scale = 1e-8;

/// In place, lower triangle; false when the matrix is not positive definite.
bool cholesky(std::vector<double>& a, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i)
        for (std::size_t j = 0; j <= i; ++j) {
            double sum = a[i * n + j];
            const double *row_i = &a[i * n], *row_j = &a[j * n];
            for (std::size_t k = 0; k < j; ++k) sum -= row_i[k] * row_j[k];
            if (i != j)
                a[i * n + j] = sum / a[j * n + j];
            else if (sum <= 0)
                return false;
            else
                a[i * n + i] = std::sqrt(sum);
        }
    return true;
}

/// Solves L x = b.
std::vector<double> forward(const std::vector<double>& factor, std::vector<double> b) {
    const std::size_t n = b.size();
    for (std::size_t i = 0; i < n; ++i) {
        for (std::size_t k = 0; k < i; ++k) b[i] -= factor[i * n + k] * b[k];
        b[i] /= factor[i * n + i];
    }
    return b;
}

/// Solves L^T x = b.
std::vector<double> backward(const std::vector<double>& factor, std::vector<double> b) {
    const std::size_t n = b.size();
    for (std::size_t i = n; i-- > 0;) {
        b[i] /= factor[i * n + i];
        for (std::size_t k = 0; k < i; ++k) b[k] -= factor[i * n + k] * b[i];
    }
    return b;
}

std::vector<std::size_t> every(std::size_t count, std::size_t most) {
    const std::size_t stride = (count + most - 1) / most;
    std::vector<std::size_t> rows;
    for (std::size_t i = 0; i < count; i += stride) rows.push_back(i);
    return rows;
}

}  // namespace

Kriging::Kriging(ScatteredValues data) : data_(std::move(data)) {
    choose();
    fit_all();
}

Kriging::Kriging(ScatteredValues data, const Settings& settings) : data_(std::move(data)), settings_(settings) {
    fit_all();
}

void Kriging::fit_all() {
    if (data_.size() > most_global) return;
    std::vector<std::size_t> rows(data_.size());
    std::iota(rows.begin(), rows.end(), std::size_t{0});
    global_ = fit(std::move(rows), settings_);
}

double Kriging::covariance(std::span<const double> a, std::span<const double> b, const Settings& s) const {
    double square = 0;
    for (std::size_t d = 0; d < a.size(); ++d) {
        const double difference = (a[d] - b[d]) * (d < data_.smooth ? 1 / s.length : s.step);
        square += difference * difference;
    }
    const double distance = std::sqrt(square);
    if (s.rough) return std::exp(-distance);
    const double root = std::sqrt(3.0) * distance;
    return (1 + root) * std::exp(-root);
}

Kriging::Fit Kriging::fit(std::vector<std::size_t> rows, const Settings& settings) const {
    Fit out;
    const std::size_t n = rows.size();
    out.factor.assign(n * n, 0.0);
    for (std::size_t i = 0; i < n; ++i) {
        out.mean += data_.values[rows[i]] / static_cast<double>(n);
        for (std::size_t j = 0; j <= i; ++j)
            out.factor[i * n + j] = covariance(data_.point(rows[i]), data_.point(rows[j]), settings);
        out.factor[i * n + i] += settings.noise + 1e-9;
    }
    out.log_likelihood = -std::numeric_limits<double>::infinity();
    if (!cholesky(out.factor, n)) return out;
    std::vector<double> rest(n);
    for (std::size_t i = 0; i < n; ++i) rest[i] = data_.values[rows[i]] - out.mean;
    const auto white = forward(out.factor, rest);
    const double square = std::inner_product(white.begin(), white.end(), white.begin(), 0.0);
    out.scale = std::max(square / static_cast<double>(n), least_scale);
    out.log_likelihood = -0.5 * static_cast<double>(n) * std::log(out.scale);
    for (std::size_t i = 0; i < n; ++i) out.log_likelihood -= std::log(out.factor[i * n + i]);
    out.alpha = backward(out.factor, white);
    out.rows = std::move(rows);
    return out;
}

/// Every combination of a coarse table: the likelihood is flat around its maximum.
void Kriging::choose() {
    const auto rows = every(data_.size(), most_for_choice);
    double best = -std::numeric_limits<double>::infinity();
    Settings chosen;
    for (const bool rough : {true, false})
        for (const double length : {1.0, 2.0, 4.0, 8.0})
            for (const double step : {0.1, 0.3, 1.0}) {
                if (data_.steps == 0 && step > 0.1) continue;
                for (const double noise : {1e-4, 1e-3, 1e-2, 0.05, 0.2}) {
                    const Settings settings{length, step, noise, rough};
                    const double likelihood = fit(rows, settings).log_likelihood;
                    if (likelihood > best) best = likelihood, chosen = settings;
                }
            }
    settings_ = chosen;
    log_likelihood_ = best;
}

std::vector<std::size_t> Kriging::nearest(std::span<const double> point) const {
    std::vector<std::pair<double, std::size_t>> order(data_.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = {-covariance(point, data_.point(i), settings_), i};
    std::partial_sort(order.begin(), order.begin() + most_local, order.end());
    std::vector<std::size_t> rows;
    for (std::size_t i = 0; i < most_local; ++i) rows.push_back(order[i].second);
    return rows;
}

Kriging::Answer Kriging::answer(const Fit& fit, std::span<const double> point) const {
    std::vector<double> towards(fit.rows.size());
    double value = fit.mean;
    for (std::size_t i = 0; i < towards.size(); ++i) {
        towards[i] = covariance(point, data_.point(fit.rows[i]), settings_);
        value += towards[i] * fit.alpha[i];
    }
    const auto white = forward(fit.factor, std::move(towards));
    const double known = std::inner_product(white.begin(), white.end(), white.begin(), 0.0);
    return {value, std::sqrt(fit.scale * std::max(0.0, 1 - known))};
}

Kriging::Answer Kriging::at(std::span<const double> point) const {
    if (data_.size() <= most_global) return answer(global_, point);
    return answer(fit(nearest(point), settings_), point);
}

/// Equation 5.12: the residual is alpha_i over the i-th diagonal element of the inverse covariance.
std::vector<double> Kriging::leave_one_out() const {
    const std::size_t n = global_.rows.size();
    std::vector<double> out(n);
    for (std::size_t i = 0; i < n; ++i) {
        std::vector<double> unit(n, 0.0);
        unit[i] = 1;
        const auto white = forward(global_.factor, std::move(unit));
        const double precision = std::inner_product(white.begin(), white.end(), white.begin(), 0.0);
        out[i] = -global_.alpha[i] / precision;
    }
    return out;
}

}  // namespace orrery::calibrate
