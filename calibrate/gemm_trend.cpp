#include "calibrate/gemm_trend.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>
#include <vector>

namespace orrery::calibrate {

namespace {

/// fp32 elements of a 64-byte vector or cache line: sizes below whole ones of these leave lanes idle. Register blocks
/// of AVX-512 are three such vectors wide.
constexpr double vector = 16, block = 48;

double padded(double size, double unit) { return std::ceil(size / unit) * unit; }

GemmTrend::Terms terms_of(double m, double n, double k) {
    return {1,     m * n * k, padded(m, vector) * n * k, m * padded(n, vector) * k, m * padded(n, block) * k, m * k,
            n * k, m * n};
}

/// The normal equations of rows weighted so, and of the value 1 for each.
struct NormalEquations {
    std::array<GemmTrend::Terms, GemmTrend::terms> matrix{};
    GemmTrend::Terms right{};

    NormalEquations(const std::vector<GemmTrend::Terms>& rows, const std::vector<double>& weight) {
        for (std::size_t i = 0; i < rows.size(); ++i)
            for (std::size_t a = 0; a < right.size(); ++a) {
                right[a] += weight[i] * rows[i][a];
                for (std::size_t b = 0; b < right.size(); ++b) matrix[a][b] += weight[i] * rows[i][a] * rows[i][b];
            }
    }

    /// The solution without negative values, from a start near it: one value after the other until they settle
    /// (coordinate descent). The terms are much alike, so that takes many sweeps.
    void solve(GemmTrend::Terms& x) const {
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

/// Least squares of the relative error with costs that are not negative; rows far off are weighted down (least absolute
/// deviations by reweighting).
GemmTrend::Terms fitted(const std::vector<GemmTrend::Terms>& rows) {
    constexpr int rounds = 12;
    constexpr double near = 0.05;  // errors up to this are as good as none
    GemmTrend::Terms cost{};
    std::vector<double> weight(rows.size(), 1.0);
    for (int round = 0; round < rounds; ++round) {
        NormalEquations(rows, weight).solve(cost);
        for (std::size_t i = 0; i < rows.size(); ++i) {
            const double sum = std::inner_product(cost.begin(), cost.end(), rows[i].begin(), 0.0);
            weight[i] = 1 / std::max(near, std::abs(sum - 1));
        }
    }
    return cost;
}

std::array<double, 3> sizes(const kernels::Gemm& g) {
    return {static_cast<double>(g.batch) * g.m, static_cast<double>(g.n), static_cast<double>(g.k)};
}

std::array<double, 6> coordinates(const std::array<double, 3>& size) {
    const auto ragged = [](double value) { return std::fmod(value, vector) == 0 ? 0.0 : 1.0; };
    return {std::log(size[0]), std::log(size[1]), std::log(size[2]), ragged(size[0]), ragged(size[1]), ragged(size[2])};
}

kernels::Gemm shape_of(const GemmPoint& p, const GemmTable& table) {
    return {table.dtype, 1, p.m, p.n, p.k, table.pass};
}

}  // namespace

GemmTrend::GemmTrend(const GemmTable& table) {
    std::vector<Terms> rows;
    Terms largest{};
    for (const auto& p : table.points) {
        Terms row = terms_of(p.m, p.n, p.k);
        for (std::size_t j = 0; j < terms; ++j) largest[j] = std::max(largest[j], row[j] /= p.seconds);
        rows.push_back(row);
    }
    for (auto& row : rows)
        for (std::size_t j = 0; j < terms; ++j) row[j] /= largest[j];
    cost_ = fitted(rows);
    for (std::size_t j = 0; j < terms; ++j) cost_[j] /= largest[j];
}

double GemmTrend::seconds(const kernels::Gemm& g) const {
    const Terms row = terms_of(g.m, g.n, g.k);
    double sum = 0;
    for (std::size_t j = 1; j < terms; ++j) sum += cost_[j] * row[j];
    return cost_[0] + g.batch * sum;
}

GemmScatter::GemmScatter(const GemmTable& table, const Machine& machine) : dtype_(table.dtype) {
    low_ = high_ = sizes(shape_of(table.points.front(), table));
    for (const auto& p : table.points) {
        const auto size = sizes(shape_of(p, table));
        for (std::size_t d = 0; d < 3; ++d)
            low_[d] = std::min(low_[d], size[d]), high_[d] = std::max(high_[d], size[d]);
    }
    if (!table.scatter || table.scatter->points != table.points.size()) {
        choose(table, machine);
        return;
    }
    const ScatterSettings& known = *table.scatter;
    if (known.trend.size() == GemmTrend::terms) {
        GemmTrend::Terms cost;
        std::ranges::copy(known.trend, cost.begin());
        trend_.emplace(cost);
    }
    residual_.emplace(residuals(table, machine), Kriging::Settings{known.length, known.step, known.noise, known.rough});
}

ScatteredValues GemmScatter::residuals(const GemmTable& table, const Machine& machine) const {
    ScatteredValues data{3, 3, {}, {}};
    for (const auto& p : table.points) {
        const kernels::Gemm gemm = shape_of(p, table);
        const auto at = coordinates(sizes(gemm));
        data.coordinates.insert(data.coordinates.end(), at.begin(), at.end());
        data.values.push_back(std::log(p.seconds / baseline(gemm, machine)));
    }
    return data;
}

void GemmScatter::choose(const GemmTable& table, const Machine& machine) {
    residual_.emplace(residuals(table, machine));
    if (table.points.size() < 2 * GemmTrend::terms) return;
    trend_.emplace(table);
    const Kriging around_trend(residuals(table, machine));
    if (around_trend.log_likelihood() > residual_->log_likelihood())
        residual_ = around_trend;
    else
        trend_.reset();
}

ScatterSettings GemmScatter::settings() const {
    const Kriging::Settings& chosen = residual_->settings();
    ScatterSettings out{residual_->size(), {}, chosen.length, chosen.step, chosen.noise, chosen.rough};
    if (trend_) out.trend.assign(trend_->cost().begin(), trend_->cost().end());
    return out;
}

bool is_scattered(const GemmTable& table) {
    std::set<std::uint32_t> m, n, k;
    for (const GemmPoint& p : table.points) m.insert(p.m), n.insert(p.n), k.insert(p.k);
    return 2 * table.points.size() <= m.size() * n.size() * k.size() &&
           std::ranges::any_of(table.points, [](const GemmPoint& p) { return p.half_width > 0; });
}

void choose_settings(Profile& profile) {
    const Profile written = as_read(profile);
    const Machine machine(written.constants);
    for (std::size_t i = 0; i < profile.gemm.size(); ++i) {
        GemmTable& table = profile.gemm[i];
        const bool known = table.scatter && table.scatter->points == table.points.size();
        if (is_scattered(table) && !known) table.scatter = GemmScatter(written.gemm[i], machine).settings();
    }
}

/// A format that the table does not hold takes the table's times, scaled as the rooflines differ.
double GemmScatter::baseline(const kernels::Gemm& gemm, const Machine& machine) const {
    const double roofline = gemm_roofline(gemm, machine);
    if (!trend_) return roofline;
    kernels::Gemm measured = gemm;
    measured.dtype = dtype_;
    return trend_->seconds(gemm) * roofline / gemm_roofline(measured, machine);
}

GemmScatter::Answer GemmScatter::at(const kernels::Gemm& gemm, const Machine& machine) const {
    const auto size = sizes(gemm);
    const auto found = residual_->at(coordinates(size));
    Answer answer{baseline(gemm, machine) * std::exp(found.value), found.deviation, false};
    for (std::size_t d = 0; d < 3; ++d) answer.outside |= size[d] < low_[d] || size[d] > high_[d];
    return answer;
}

std::vector<double> GemmScatter::leave_one_out() const {
    std::vector<double> errors = residual_->leave_one_out();
    for (double& e : errors) e = std::abs(std::expm1(e));
    return errors;
}

}  // namespace orrery::calibrate
