#include "calibrate/clean_gemm.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>
#include <vector>

#include "base/statistics.hpp"

namespace orrery::calibrate {

namespace {

/// Times of one (n, k), ascending in m; indices into the table.
using Lines = std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<std::size_t>>;

Lines lines_of(const GemmTable& table) {
    Lines lines;
    for (std::size_t i = 0; i < table.points.size(); ++i) lines[{table.points[i].n, table.points[i].k}].push_back(i);
    return lines;
}

/// Median seconds per row of line[at] and the two neighbours on each side that lie within a factor of two; 0 when
/// fewer than four readings remain.
double usual_cost(const std::vector<GemmPoint>& points, const std::vector<std::size_t>& line, std::size_t at) {
    constexpr std::size_t reach = 2;
    const double m = points[line[at]].m;
    std::vector<double> costs;
    for (std::size_t i = at >= reach ? at - reach : 0; i < std::min(at + reach + 1, line.size()); ++i) {
        const GemmPoint& p = points[line[i]];
        if (p.m < 2 * m && m < 2 * p.m) costs.push_back(static_cast<double>(p.seconds) / p.m);
    }
    return costs.size() < 4 ? 0.0 : median(std::move(costs));
}

}  // namespace

double twin_difference(const GemmTable& table) {
    std::vector<double> differences;
    for (const auto& [pair, line] : lines_of(table)) {
        if (std::min(pair.first, pair.second) < 512) continue;
        for (std::size_t i = 0; i + 1 < line.size(); ++i) {
            const GemmPoint &low = table.points[line[i]], &high = table.points[line[i + 1]];
            if (low.m >= 512 && high.m == low.m + 1) differences.push_back(std::log(high.seconds / low.seconds));
        }
    }
    if (differences.empty()) return 0.0;
    const double common = median(differences);
    for (double& d : differences) d = std::abs(d - common);
    return median(std::move(differences));
}

std::size_t replace_disturbed(GemmTable& table) {
    constexpr double allowed = 1.12;
    const double twins = twin_difference(table);
    if (twins <= disturbed_twins) return 0;
    std::size_t replaced = 0;
    const std::vector<GemmPoint> measured = table.points;
    for (const auto& [pair, line] : lines_of(table))
        for (std::size_t i = 0; i < line.size(); ++i) {
            GemmPoint& p = table.points[line[i]];
            const double usual = usual_cost(measured, line, i) * p.m;
            if (usual <= 0 || p.seconds <= allowed * usual) continue;
            p.seconds = static_cast<float>(usual);
            ++replaced;
        }
    table.provenance.origin += fmt::format(
        "; twin readings m, m + 1 scatter by {:.1f}%: {} of {} readings, over 12% slower than their neighbours along "
        "m, replaced by the neighbours' median",
        100 * twins, replaced, measured.size());
    return replaced;
}

std::size_t lower_to_larger(GemmTable& table) {
    std::size_t lowered = 0;
    for (GemmPoint& p : table.points) {
        const float read = p.seconds;
        for (const GemmPoint& larger : table.points)
            if (larger.m >= p.m && larger.n >= p.n && larger.k >= p.k) p.seconds = std::min(p.seconds, larger.seconds);
        if (p.seconds < read) ++lowered;
    }
    if (lowered > 0)
        table.provenance.origin += fmt::format("; {} of {} readings lowered to that of a product which contains theirs",
                                               lowered, table.points.size());
    return lowered;
}

}  // namespace orrery::calibrate
