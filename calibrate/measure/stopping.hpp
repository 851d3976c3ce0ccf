// When a point has been measured often enough. Knows samples only, no device: tested on synthetic ones.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace orrery::calibrate {

struct StopRule {
    double target = 0.005;  ///< relative standard error of the median that is good enough
    std::uint32_t min_samples = 5, max_samples = 200;
    double max_seconds = 0.3;  ///< of samples, summed; ends the point after min_samples
};

/// What the samples say.
struct Summary {
    double median = 0;
    double standard_error = 0;  ///< of the median, relative
    double noise = 0;           ///< spread of one sample, relative: 1.4826 times the median absolute deviation
    std::uint32_t samples = 0;  ///< that the median is of
    bool settled = false;       ///< the standard error met the target and the samples do not drift
};

/// Collects samples of one point. The standard error of the median comes from order statistics (the samples a root of
/// n ranks beside it; David and Nagaraja, Order Statistics, section 7.1) and is never below what the spread of the
/// middle half of the samples tells. It then covers the gap between two modes unless one of them is rare, or was not
/// seen: of five samples of two equally likely modes all lie in one in a case of sixteen. When the later half lies
/// apart from the earlier half (a device that warms up), the earlier half is dropped, and the point settles only once
/// the rest has been seen to be steady.
class Stopping {
public:
    explicit Stopping(const StopRule& rule) : rule_(rule) {}

    void add(double seconds);
    [[nodiscard]] bool done() const;
    [[nodiscard]] Summary summary() const;

private:
    [[nodiscard]] bool drifting() const;

    StopRule rule_;
    std::vector<double> samples_;  // in order of time
    std::uint32_t taken_ = 0;
    double spent_ = 0;
    bool drifted_ = false;
};

/// The median, and the larger of a quarter of the range that holds the true median in nineteen of twenty cases and what
/// the range of the middle half tells of a normal distribution.
struct MedianEstimate {
    double median = 0, standard_error = 0;
};
MedianEstimate median_of(std::vector<double> samples);

}  // namespace orrery::calibrate
