#include "calibrate/cost_fit.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace orrery::calibrate {

namespace {

/// The normal equations of rows weighted so, and of the value 1 for each.
struct NormalEquations {
    std::array<CostTerms, cost_terms> matrix{};
    CostTerms right{};

    NormalEquations(const std::vector<CostTerms>& rows, const std::vector<double>& weight) {
        for (std::size_t i = 0; i < rows.size(); ++i)
            for (std::size_t a = 0; a < right.size(); ++a) {
                right[a] += weight[i] * rows[i][a];
                for (std::size_t b = 0; b < right.size(); ++b) matrix[a][b] += weight[i] * rows[i][a] * rows[i][b];
            }
    }

    /// The solution without negative values, from a start near it: one value after the other until they settle
    /// (coordinate descent). The terms are much alike, so that takes many sweeps.
    void solve(CostTerms& x) const {
        constexpr int most_sweeps = 20000;
        constexpr double settled = 1e-9;  // of values that are about one
        for (int sweep = 0; sweep < most_sweeps; ++sweep) {
            double moved = 0;
            for (std::size_t a = 0; a < x.size(); ++a) {
                if (matrix[a][a] <= 0) continue;
                const double rest = std::inner_product(x.begin(), x.end(), matrix[a].begin(), -right[a]);
                const double next = std::max(0.0, x[a] - rest / matrix[a][a]);
                moved = std::max(moved, std::abs(next - x[a]));
                x[a] = next;
            }
            if (moved < settled) return;
        }
    }
};

/// Least squares of the relative error; rows far off are weighted down (least absolute deviations by reweighting).
CostTerms fitted(const std::vector<CostTerms>& rows) {
    constexpr int rounds = 12;
    constexpr double near = 0.05;  // errors up to this are as good as none
    CostTerms cost{};
    std::vector<double> weight(rows.size(), 1.0);
    for (int round = 0; round < rounds; ++round) {
        NormalEquations(rows, weight).solve(cost);
        for (std::size_t i = 0; i < rows.size(); ++i)
            weight[i] = 1 / std::max(near, std::abs(total_cost(rows[i], cost) - 1));
    }
    return cost;
}

}  // namespace

CostTerms fitted_costs(std::vector<CostTerms> parts, std::span<const double> seconds) {
    CostTerms largest{};
    for (std::size_t i = 0; i < parts.size(); ++i)
        for (std::size_t j = 0; j < cost_terms; ++j) largest[j] = std::max(largest[j], parts[i][j] /= seconds[i]);
    for (double& each : largest) each = each > 0 ? each : 1;
    for (CostTerms& row : parts)
        for (std::size_t j = 0; j < cost_terms; ++j) row[j] /= largest[j];
    CostTerms costs = fitted(parts);
    for (std::size_t j = 0; j < cost_terms; ++j) costs[j] /= largest[j];
    return costs;
}

double total_cost(const CostTerms& parts, const CostTerms& costs) {
    return std::inner_product(parts.begin(), parts.end(), costs.begin(), 0.0);
}

}  // namespace orrery::calibrate
