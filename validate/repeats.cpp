#include "validate/repeats.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <utility>

#include "base/statistics.hpp"

namespace orrery::validate {

Repeats repeats(const std::vector<Result>& rows) {
    std::map<std::pair<std::string, std::size_t>, std::vector<const Result*>> scenarios;
    for (const Result& row : rows)
        if (row.predicted && row.scenario > 0) scenarios[{row.source, row.scenario}].push_back(&row);
    Repeats found;
    std::vector<double> distances;
    std::size_t inside = 0;
    for (const auto& [scenario, runs] : scenarios) {
        if (runs.size() < 2) continue;
        ++found.scenarios;
        std::vector<double> measured;
        for (const Result* run : runs) measured.push_back(run->measured);
        const auto [least, most] = std::ranges::minmax(measured);
        const double middle = median(measured);
        for (const Result* run : runs) {
            distances.push_back(std::abs(run->measured / middle - 1));
            if (run->prediction >= least && run->prediction <= most) ++inside;
        }
    }
    found.rows = distances.size();
    if (distances.empty()) return found;
    found.spread = median(distances);
    found.inside = static_cast<double>(inside) / static_cast<double>(found.rows);
    return found;
}

}  // namespace orrery::validate
