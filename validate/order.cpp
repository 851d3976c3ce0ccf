#include "validate/order.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <string>
#include <utility>

#include "base/statistics.hpp"
#include "validate/score.hpp"

namespace orrery::validate {

namespace {

/// Seconds per sequence.
struct Planned {
    double measured = 0, predicted = 0;
};

/// The quickest measured one first. A row without a scenario is a plan of its own.
std::vector<Planned> plans_of(const std::vector<const Result*>& rows) {
    std::map<std::size_t, std::vector<const Result*>> by_scenario;
    std::vector<Planned> plans;
    for (const Result* row : rows)
        if (row->scenario == 0)
            plans.push_back({row->rank_measured, row->rank_prediction});
        else
            by_scenario[row->scenario].push_back(row);
    for (const auto& [number, runs] : by_scenario) {
        std::vector<double> measured;
        for (const Result* run : runs) measured.push_back(run->rank_measured);
        plans.push_back({median(std::move(measured)), runs.front()->rank_prediction});
    }
    std::ranges::stable_sort(plans, {}, &Planned::measured);
    return plans;
}

bool differ(const Planned& quicker, const Planned& slower) {
    return slower.measured > quicker.measured * (1 + least_spread);
}

void count_pairs(const std::vector<Planned>& plans, Order& order) {
    for (std::size_t slower = 0; slower < plans.size(); ++slower)
        for (std::size_t quicker = 0; quicker < slower; ++quicker) {
            if (!differ(plans[quicker], plans[slower])) continue;
            ++order.pairs;
            order.ordered += plans[quicker].predicted < plans[slower].predicted ? 1 : 0;
        }
}

/// Runs of plans that are not told apart from their quickest, at the medians of both sides.
std::vector<Planned> different(const std::vector<Planned>& plans) {
    std::vector<Planned> found;
    for (std::size_t begin = 0, end = 0; begin < plans.size(); begin = end) {
        std::vector<double> measured, predicted;
        for (; end < plans.size() && !differ(plans[begin], plans[end]); ++end) {
            measured.push_back(plans[end].measured);
            predicted.push_back(plans[end].predicted);
        }
        found.push_back({median(std::move(measured)), median(std::move(predicted))});
    }
    return found;
}

std::optional<double> correlation(const std::vector<Planned>& plans) {
    if (plans.size() < least_group) return std::nullopt;
    const std::vector<Planned> points = different(plans);
    if (points.size() < least_different) return std::nullopt;
    std::vector<double> measured, predicted;
    for (const Planned& point : points) {
        measured.push_back(point.measured);
        predicted.push_back(point.predicted);
    }
    return spearman(measured, predicted);
}

}  // namespace

std::vector<double> ranks(std::span<const double> values) {
    std::vector<std::size_t> order(values.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order, {}, [&](std::size_t i) { return values[i]; });
    std::vector<double> result(values.size());
    for (std::size_t begin = 0; begin < order.size();) {
        std::size_t end = begin;
        while (end < order.size() && values[order[end]] == values[order[begin]]) ++end;
        const double shared = (static_cast<double>(begin + end) + 1) / 2;  // mean of begin+1 .. end
        for (std::size_t i = begin; i < end; ++i) result[order[i]] = shared;
        begin = end;
    }
    return result;
}

std::optional<double> spearman(std::span<const double> a, std::span<const double> b) {
    if (a.size() != b.size() || a.size() < 2) return std::nullopt;
    const std::vector<double> x = ranks(a), y = ranks(b);
    const double center = (static_cast<double>(a.size()) + 1) / 2;
    double xy = 0, xx = 0, yy = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
        xy += (x[i] - center) * (y[i] - center);
        xx += (x[i] - center) * (x[i] - center);
        yy += (y[i] - center) * (y[i] - center);
    }
    if (xx == 0 || yy == 0) return std::nullopt;
    return xy / std::sqrt(xx * yy);
}

Order order_of(std::span<const Result* const> predicted) {
    std::map<std::string, std::vector<const Result*>> groups;
    for (const Result* row : predicted)
        if (!row->group.empty()) groups[row->group].push_back(row);
    Order order;
    double sum = 0;
    for (const auto& [name, rows] : groups) {
        const std::vector<Planned> plans = plans_of(rows);
        count_pairs(plans, order);
        const std::optional<double> of_group = correlation(plans);
        if (!of_group) continue;
        ++order.groups;
        sum += *of_group;
    }
    if (order.groups > 0) order.spearman = sum / static_cast<double>(order.groups);
    return order;
}

}  // namespace orrery::validate
