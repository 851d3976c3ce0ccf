// Interpolation in logarithmic coordinates: monotone curves, and scattered points.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace orrery::calibrate {

/// y(x) through given points, both positive, interpolated as ln y over ln x by a monotone cubic (Fritsch and
/// Carlson, SIAM J. Numer. Anal. 17(2), 1980): passes through the points, never over- or undershoots them.
class Curve {
public:
    /// x ascending, at least one point. non_decreasing: raises a y that lies below its predecessor to it.
    Curve(std::span<const double> x, std::span<const double> y, bool non_decreasing);

    /// Inside the range only: x outside is clamped to the nearest end.
    [[nodiscard]] double at(double x) const;
    [[nodiscard]] double first_x() const;
    [[nodiscard]] double last_x() const;
    /// Index of the last point at or before x (0 when x lies before all of them).
    [[nodiscard]] std::size_t before(double x) const;

private:
    std::vector<double> x_, y_, slope_;  // logarithms
};

/// Times of messages by size, never falling, from readings that disturbances only lengthen: a reading above a later
/// (larger) one's is lowered to it. Between two sizes the time is linear in the size, the latency and bandwidth of the
/// protocol that both run under; it passes through the readings, lowered ones apart.
class Sweep {
public:
    /// bytes ascending and positive, at least one.
    Sweep(std::vector<double> bytes, std::vector<double> seconds);

    /// Inside the range only: sizes outside are clamped to the nearest end.
    [[nodiscard]] double at(double bytes) const;
    [[nodiscard]] double first_bytes() const { return bytes_.front(); }
    [[nodiscard]] double last_bytes() const { return bytes_.back(); }
    /// Index of the last reading at or before a size (0 when it lies before all of them).
    [[nodiscard]] std::size_t before(double bytes) const;

private:
    std::vector<double> bytes_, seconds_;
};

/// One of the points an answer was made from, and its share in it.
struct Weight {
    std::size_t index;
    double weight;
};
/// A line for `explain`: "row 7: SHAPE measured 12 us, weight 0.250"; of a row that lies near and does not decide,
/// "nearby row 7: SHAPE measured 12 us".
std::string to_text(const Weight& weight, std::string_view shape, double seconds, bool nearby = false);

/// Where x falls on an ascending axis: x = (1 - t) axis[low] + t axis[low + 1] in logarithms, t clamped to [0, 1].
struct Position {
    std::size_t low = 0;
    double t = 0;
    bool outside = false;
};
Position locate(std::span<const double> log_axis, double log_x);

/// Nearest-neighbour weights over scattered points (Shepard's inverse-distance weighting). D coordinates a point.
template <std::size_t D>
class Scatter {
public:
    using Point = std::array<float, D>;
    static constexpr std::size_t neighbours = 8;

    void add(const Point& point) { points_.push_back(point); }
    [[nodiscard]] std::size_t size() const { return points_.size(); }
    [[nodiscard]] const Point& point(std::size_t i) const { return points_[i]; }

    /// At most `neighbours` points with weights that sum to one; a point hit exactly has weight one alone.
    [[nodiscard]] std::vector<Weight> weights(const Point& at) const;

private:
    std::vector<Point> points_;
};

extern template class Scatter<3>;
extern template class Scatter<5>;

}  // namespace orrery::calibrate
