#include "calibrate/measure/stopping.hpp"

#include <algorithm>
#include <cmath>
#include <span>

namespace orrery::calibrate {

namespace {

/// Median absolute deviation to standard deviation, for a normal distribution.
constexpr double mad_to_sigma = 1.4826;
/// Halves whose medians lie this many standard errors apart have drifted.
constexpr double drift_errors = 3;

double middle(std::vector<double>& sorted) {
    const std::size_t n = sorted.size();
    return n % 2 == 1 ? sorted[n / 2] : (sorted[n / 2 - 1] + sorted[n / 2]) / 2;
}

}  // namespace

MedianEstimate median_of(std::vector<double> samples) {
    if (samples.empty()) return {};
    std::ranges::sort(samples);
    const auto n = static_cast<double>(samples.size());
    const double centre = (n - 1) / 2, reach = std::sqrt(n) / 2;
    const auto low = static_cast<std::size_t>(std::max(0.0, std::floor(centre - reach)));
    const auto high = static_cast<std::size_t>(std::min(n - 1, std::ceil(centre + reach)));
    return {middle(samples), (samples[high] - samples[low]) / 2};
}

void Stopping::add(double seconds) {
    samples_.push_back(seconds);
    ++taken_;
    spent_ += seconds;
    if (drifting())
        samples_.erase(samples_.begin(), samples_.begin() + static_cast<std::ptrdiff_t>(samples_.size() / 2));
}

bool Stopping::drifting() const {
    const std::size_t half = samples_.size() / 2;
    if (half < rule_.min_samples) return false;
    const auto split = samples_.begin() + static_cast<std::ptrdiff_t>(half);
    const MedianEstimate early = median_of({samples_.begin(), split}), late = median_of({split, samples_.end()});
    const double apart = std::abs(late.median - early.median);
    return apart > drift_errors * std::hypot(early.standard_error, late.standard_error) + rule_.target * late.median;
}

bool Stopping::done() const {
    if (taken_ >= rule_.max_samples) return true;
    if (samples_.size() < rule_.min_samples) return false;
    return spent_ >= rule_.max_seconds || summary().settled;
}

Summary Stopping::summary() const {
    Summary out;
    if (samples_.empty()) return out;
    const MedianEstimate found = median_of(samples_);
    out.median = found.median;
    out.standard_error = found.standard_error / found.median;
    std::vector<double> deviation;
    for (const double s : samples_) deviation.push_back(std::abs(s - found.median));
    out.noise = mad_to_sigma * median_of(std::move(deviation)).median / found.median;
    out.samples = static_cast<std::uint32_t>(samples_.size());
    out.settled = out.samples >= rule_.min_samples && out.standard_error <= rule_.target;
    return out;
}

}  // namespace orrery::calibrate
