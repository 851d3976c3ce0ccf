// Gaussian-process regression (kriging) over scattered measurements: how much an answer is worth comes with it.
// Rasmussen and Williams, Gaussian Processes for Machine Learning (2006), algorithm 2.1 and equation 5.12.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace orrery::calibrate {

/// Points with `smooth` coordinates over which the value changes gradually (logarithms of sizes) and, after them,
/// coordinates of 0 or 1 over which it steps (whether a size fills whole vectors).
struct ScatteredValues {
    std::size_t smooth = 0, steps = 0;
    std::vector<double> coordinates;  ///< (smooth + steps) a point
    std::vector<double> values;
    [[nodiscard]] std::size_t size() const { return values.size(); }
    [[nodiscard]] std::span<const double> point(std::size_t i) const {
        return std::span(coordinates).subspan(i * (smooth + steps), smooth + steps);
    }
};

/// A constant mean and an isotropic covariance, exponential or Matern 3/2, whose length, step weight and share of
/// noise have the highest likelihood among a table of choices. Returns the measured value at a measured point as far
/// as the noise allows. Tables above `most_global` points are answered from the points nearest to the question.
class Kriging {
public:
    static constexpr std::size_t most_global = 1200, most_local = 256;

    struct Settings {
        double length = 4, step = 0.3, noise = 0.01;  ///< noise: share of the variance
        bool rough = true;                            ///< exponential covariance; else Matern 3/2
    };

    /// At least one point. Chooses the settings.
    explicit Kriging(ScatteredValues data);
    /// With settings that were chosen for these points before.
    Kriging(ScatteredValues data, const Settings& settings);

    struct Answer {
        double value = 0;
        double deviation = 0;  ///< standard deviation of the value, without the noise of one more reading
    };
    [[nodiscard]] Answer at(std::span<const double> point) const;

    /// What each point would be predicted as without itself, minus its value. Global tables only; else empty.
    [[nodiscard]] std::vector<double> leave_one_out() const;

    /// ln likelihood of the values under the settings, on the points they were chosen with; 0: they were given.
    [[nodiscard]] double log_likelihood() const { return log_likelihood_; }

    [[nodiscard]] const Settings& settings() const { return settings_; }
    [[nodiscard]] std::size_t size() const { return data_.size(); }

private:
    struct Fit {
        std::vector<std::size_t> rows;
        std::vector<double> factor;  ///< lower triangle of the Cholesky factor, row-major
        std::vector<double> alpha;   ///< covariance^-1 (values - mean)
        double mean = 0, scale = 0, log_likelihood = 0;
    };
    [[nodiscard]] double covariance(std::span<const double> a, std::span<const double> b, const Settings& s) const;
    [[nodiscard]] Fit fit(std::vector<std::size_t> rows, const Settings& settings) const;
    [[nodiscard]] Answer answer(const Fit& fit, std::span<const double> point) const;
    [[nodiscard]] std::vector<std::size_t> nearest(std::span<const double> point) const;
    void choose();
    void fit_all();

    ScatteredValues data_;
    Settings settings_;
    Fit global_;
    double log_likelihood_ = 0;
};

}  // namespace orrery::calibrate
