#include "calibrate/interpolate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/units.hpp"

namespace orrery::calibrate {

namespace {

/// Slopes at the points: zero at a local extremum, else the weighted harmonic mean of the neighbouring secants.
std::vector<double> monotone_slopes(const std::vector<double>& x, const std::vector<double>& y) {
    const std::size_t n = x.size();
    std::vector<double> slope(n, 0.0), secant(n > 0 ? n - 1 : 0);
    for (std::size_t i = 0; i + 1 < n; ++i) secant[i] = (y[i + 1] - y[i]) / (x[i + 1] - x[i]);
    if (n < 2) return slope;
    slope.front() = secant.front();
    slope.back() = secant.back();
    for (std::size_t i = 1; i + 1 < n; ++i) {
        if (secant[i - 1] * secant[i] <= 0) continue;
        const double before = x[i] - x[i - 1], after = x[i + 1] - x[i];
        const double w1 = 2 * after + before, w2 = after + 2 * before;
        slope[i] = (w1 + w2) / (w1 / secant[i - 1] + w2 / secant[i]);
    }
    return slope;
}

}  // namespace

Curve::Curve(std::span<const double> x, std::span<const double> y, bool non_decreasing) {
    for (std::size_t i = 0; i < x.size(); ++i) {
        x_.push_back(std::log(x[i]));
        const double value = std::log(y[i]);
        y_.push_back(non_decreasing && i > 0 ? std::max(value, y_.back()) : value);
    }
    slope_ = monotone_slopes(x_, y_);
}

double Curve::first_x() const { return std::exp(x_.front()); }
double Curve::last_x() const { return std::exp(x_.back()); }

std::size_t Curve::before(double x) const {
    const auto above = std::upper_bound(x_.begin(), x_.end(), std::log(x) + 1e-12);
    return above == x_.begin() ? 0 : static_cast<std::size_t>(above - x_.begin()) - 1;
}

double Curve::at(double x) const {
    const double log_x = std::clamp(std::log(x), x_.front(), x_.back());
    const auto above = std::upper_bound(x_.begin(), x_.end(), log_x);
    if (above == x_.end()) return std::exp(y_.back());
    const auto i = static_cast<std::size_t>(above - x_.begin()) - 1;
    const double width = x_[i + 1] - x_[i], t = (log_x - x_[i]) / width;
    const double t2 = t * t, t3 = t2 * t;
    return std::exp((2 * t3 - 3 * t2 + 1) * y_[i] + (t3 - 2 * t2 + t) * width * slope_[i] +
                    (-2 * t3 + 3 * t2) * y_[i + 1] + (t3 - t2) * width * slope_[i + 1]);
}

Sweep::Sweep(std::vector<double> bytes, std::vector<double> seconds)
    : bytes_(std::move(bytes)), seconds_(std::move(seconds)) {
    for (std::size_t i = seconds_.size(); i-- > 1;) seconds_[i - 1] = std::min(seconds_[i - 1], seconds_[i]);
}

std::size_t Sweep::before(double bytes) const {
    const auto above = std::upper_bound(bytes_.begin(), bytes_.end(), bytes * (1 + 1e-12));
    return above == bytes_.begin() ? 0 : static_cast<std::size_t>(above - bytes_.begin()) - 1;
}

double Sweep::at(double bytes) const {
    if (bytes <= bytes_.front()) return seconds_.front();
    if (bytes >= bytes_.back()) return seconds_.back();
    const auto above = static_cast<std::size_t>(std::upper_bound(bytes_.begin(), bytes_.end(), bytes) - bytes_.begin());
    const double t = (bytes - bytes_[above - 1]) / (bytes_[above] - bytes_[above - 1]);
    return (1 - t) * seconds_[above - 1] + t * seconds_[above];
}

std::string to_text(const Weight& weight, std::string_view shape, double seconds, bool nearby) {
    const std::string row = fmt::format("  {} {}: {} measured {}", nearby ? "nearby row" : "row", weight.index, shape,
                                        format_seconds(seconds));
    return nearby ? row + "\n" : fmt::format("{}, weight {:.3f}\n", row, weight.weight);
}

Position locate(std::span<const double> log_axis, double log_x) {
    constexpr double slack = 1e-9;
    if (log_axis.size() < 2 || log_x <= log_axis.front())
        return {0, 0.0, log_x < log_axis.front() - slack || (log_axis.size() < 2 && log_x > log_axis.front() + slack)};
    if (log_x >= log_axis.back()) return {log_axis.size() - 2, 1.0, log_x > log_axis.back() + slack};
    const auto above = std::upper_bound(log_axis.begin(), log_axis.end(), log_x);
    const auto low = static_cast<std::size_t>(above - log_axis.begin()) - 1;
    return {low, (log_x - log_axis[low]) / (log_axis[low + 1] - log_axis[low]), false};
}

template <std::size_t D>
std::vector<Weight> Scatter<D>::weights(const Point& at) const {
    std::vector<Weight> nearest;  // weight holds the squared distance until the end
    nearest.reserve(neighbours + 1);
    for (std::size_t i = 0; i < points_.size(); ++i) {
        double distance = 0;
        for (std::size_t d = 0; d < D; ++d) {
            const double step = points_[i][d] - at[d];
            distance += step * step;
        }
        if (nearest.size() == neighbours && distance >= nearest.back().weight) continue;
        const auto place = std::upper_bound(nearest.begin(), nearest.end(), distance,
                                            [](double value, const Weight& w) { return value < w.weight; });
        nearest.insert(place, {i, distance});
        if (nearest.size() > neighbours) nearest.pop_back();
    }
    if (!nearest.empty() && nearest.front().weight < 1e-10) return {{nearest.front().index, 1.0}};
    double sum = 0;
    for (auto& w : nearest) sum += w.weight = std::pow(w.weight, -1.5);
    for (auto& w : nearest) w.weight /= sum;
    return nearest;
}

template class Scatter<3>;
template class Scatter<5>;

}  // namespace orrery::calibrate
