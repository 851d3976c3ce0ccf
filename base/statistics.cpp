#include "base/statistics.hpp"

#include <algorithm>
#include <cstddef>

namespace orrery {

double quantile(const std::vector<double>& sorted, double share) {
    if (sorted.empty()) return 0;
    const double at = share * static_cast<double>(sorted.size() - 1);
    const auto below = static_cast<std::size_t>(at);
    const std::size_t above = std::min(below + 1, sorted.size() - 1);
    return sorted[below] + (at - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

double median(std::vector<double> values) {
    std::ranges::sort(values);
    return quantile(values, 0.5);
}

double half_quartile_range(std::vector<double> values) {
    std::ranges::sort(values);
    return (quantile(values, 0.75) - quantile(values, 0.25)) / 2;
}

}  // namespace orrery
