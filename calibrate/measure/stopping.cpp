#include "calibrate/measure/stopping.hpp"

#include <algorithm>
#include <cmath>
#include <span>

namespace orrery::calibrate {

namespace {

/// Median absolute deviation to standard deviation, for a normal distribution.
constexpr double mad_to_sigma = 1.4826;
/// The true median lies within this many standard errors in nineteen of twenty cases, and is bracketed by the ranks as
/// far as that from the middle (the number of samples below it is binomial).
constexpr double bracket_errors = 2;
/// Range of the middle half, over the root of n, to the standard error of the median of a normal distribution:
/// 1.2533 / 1.349.
constexpr double quartiles_to_error = 0.929;
/// Halves whose rank sum lies so many standard deviations off were not drawn alike: one case in eighty by chance.
constexpr double drift_deviations = 2.5;

double middle(std::vector<double>& sorted) {
    const std::size_t n = sorted.size();
    return n % 2 == 1 ? sorted[n / 2] : (sorted[n / 2 - 1] + sorted[n / 2]) / 2;
}

/// How many pairs of an early and a late sample have the late one later in order, as standard deviations off what two
/// halves drawn alike would show (Mann and Whitney, 1947). Two halves of five that do not overlap give 2.6.
double rank_deviation(std::span<const double> early, std::span<const double> late) {
    std::vector<double> sorted(early.begin(), early.end());
    std::ranges::sort(sorted);
    double above = 0;
    for (const double s : late) {
        const auto [from, to] = std::equal_range(sorted.begin(), sorted.end(), s);
        above += static_cast<double>(from - sorted.begin()) + static_cast<double>(to - from) / 2;
    }
    const auto a = static_cast<double>(early.size()), b = static_cast<double>(late.size());
    return (above - a * b / 2) / std::sqrt(a * b * (a + b + 1) / 12);
}

}  // namespace

MedianEstimate median_of(std::vector<double> samples) {
    if (samples.empty()) return {};
    std::ranges::sort(samples);
    const auto n = static_cast<double>(samples.size());
    const double centre = (n - 1) / 2, reach = bracket_errors * std::sqrt(n) / 2;
    const auto low = static_cast<std::size_t>(std::max(0.0, std::floor(centre - reach)));
    const auto high = static_cast<std::size_t>(std::min(n - 1, std::ceil(centre + reach)));
    const std::size_t quarter = samples.size() / 4;
    const double middle_half = samples[samples.size() - 1 - quarter] - samples[quarter];
    return {middle(samples), std::max((samples[high] - samples[low]) / 2 / bracket_errors,
                                      quartiles_to_error * middle_half / std::sqrt(n))};
}

void Stopping::add(double seconds) {
    samples_.push_back(seconds);
    ++taken_;
    spent_ += seconds;
    while (drifting()) {
        drifted_ = true;
        samples_.erase(samples_.begin(), samples_.begin() + static_cast<std::ptrdiff_t>(samples_.size() / 2));
    }
}

/// A drift that moves the median by less than half the target is let be.
bool Stopping::drifting() const {
    const std::size_t half = samples_.size() / 2;
    if (half < rule_.min_samples) return false;
    const std::span<const double> all(samples_), early = all.first(half), late = all.subspan(half);
    if (std::abs(rank_deviation(early, late)) < drift_deviations) return false;
    const double before = median_of({early.begin(), early.end()}).median,
                 after = median_of({late.begin(), late.end()}).median;
    return std::abs(after - before) > rule_.target / 2 * after;
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
    // After a drift, as many as show whether it goes on.
    const std::uint32_t needed = drifted_ ? 2 * rule_.min_samples : rule_.min_samples;
    out.settled = out.samples >= needed && out.standard_error <= rule_.target;
    return out;
}

}  // namespace orrery::calibrate
