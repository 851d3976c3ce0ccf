#include "models/relative_positions.hpp"

#include <algorithm>
#include <cmath>

namespace orrery::models {

std::uint32_t relative_bucket(std::int64_t distance, std::uint32_t buckets, bool both_ways) {
    constexpr double farthest = 128;
    if (both_ways) buckets /= 2;
    const std::uint32_t first = both_ways && distance > 0 ? buckets : 0, exact = buckets / 2;
    const std::int64_t away = both_ways ? std::abs(distance) : std::max<std::int64_t>(-distance, 0);
    if (away < exact) return first + static_cast<std::uint32_t>(away);
    const double share = std::log(static_cast<double>(away) / exact) / std::log(farthest / exact);
    return first + std::min(buckets - 1, exact + static_cast<std::uint32_t>(share * (buckets - exact)));
}

}  // namespace orrery::models
