// Measured times of kernels whose shapes lie scattered, ready for look-up.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "calibrate/cost_fit.hpp"
#include "calibrate/kriging.hpp"
#include "calibrate/profile.hpp"

namespace orrery::calibrate {

/// Of a table's points.
template <class Point>
std::vector<double> seconds_of(const std::vector<Point>& points) {
    std::vector<double> seconds;
    for (const Point& point : points) seconds.push_back(point.seconds);
    return seconds;
}

/// A kernel as it is looked up.
struct ScatteredShape {
    std::vector<double> coordinates;  ///< smooth ones, and after them steps (ScatteredValues)
    CostTerms parts{};
    double roofline = 0;  ///< seconds
    double scale = 1;     ///< of its roofline over that of the same shape in the table's format
};

/// ln(time / baseline) by kriging, where the baseline is the roofline or what the parts cost, whichever makes the
/// measured times more likely.
class ScatteredTimes {
public:
    /// `smooth` coordinates of each shape are smooth ones. `known`: settings that were chosen before, which count where
    /// they are of as many points; else they are chosen. At least one shape.
    ScatteredTimes(const std::vector<ScatteredShape>& shapes, std::span<const double> seconds, std::size_t smooth,
                   const std::optional<ScatterSettings>& known);

    struct Answer {
        double seconds = 0;
        double uncertainty = 0;  ///< relative, one standard deviation
        bool outside = false;    ///< a smooth coordinate lies beyond the measured ones
        double baseline = 0;     ///< seconds that the measured times were interpolated around
        bool by_parts = false;   ///< what its parts cost, not its roofline
        std::size_t rows = 0;    ///< that were measured
    };
    [[nodiscard]] Answer at(const ScatteredShape& shape) const;
    /// Relative errors of each point predicted from the others.
    [[nodiscard]] std::vector<double> leave_one_out() const;
    [[nodiscard]] ScatterSettings settings() const;

private:
    [[nodiscard]] double baseline(const ScatteredShape& shape) const;
    [[nodiscard]] ScatteredValues residuals(const std::vector<ScatteredShape>& shapes,
                                            std::span<const double> seconds) const;
    void choose(const std::vector<ScatteredShape>& shapes, std::span<const double> seconds);

    std::size_t smooth_;
    std::optional<CostTerms> costs_;
    std::optional<Kriging> residual_;
    std::vector<double> low_, high_;
};

/// A line for `orrery explain`: the baseline, what neighbours make of it, and how sure that is.
std::string to_text(const ScatteredTimes::Answer& answer);

}  // namespace orrery::calibrate
