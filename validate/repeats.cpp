#include "validate/repeats.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <utility>

#include "base/statistics.hpp"

namespace orrery::validate {

Repeats repeats(const std::vector<Result>& rows) {
    std::map<std::pair<std::string, std::size_t>, std::vector<double>> measured;
    for (const Result& row : rows)
        if (row.predicted && row.scenario > 0) measured[{row.source, row.scenario}].push_back(row.measured);
    Repeats found;
    std::vector<double> distances;
    std::size_t inside = 0;
    for (const auto& [scenario, values] : measured) {
        if (values.size() < 2) continue;
        ++found.scenarios;
        const double middle = median(values);
        for (const double each : values) distances.push_back(std::abs(each / middle - 1));
    }
    for (const Result& row : rows) {
        if (!row.predicted || row.scenario == 0) continue;
        const std::vector<double>& values = measured.at({row.source, row.scenario});
        const auto [least, most] = std::ranges::minmax(values);
        if (values.size() > 1 && row.prediction >= least && row.prediction <= most) ++inside;
    }
    found.rows = distances.size();
    if (distances.empty()) return found;
    found.spread = median(distances);
    found.inside = static_cast<double>(inside) / static_cast<double>(found.rows);
    return found;
}

}  // namespace orrery::validate
