#include "calibrate/scattered_times.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/units.hpp"

namespace orrery::calibrate {

ScatteredTimes::ScatteredTimes(const std::vector<ScatteredShape>& shapes, std::span<const double> seconds,
                               std::size_t smooth, const std::optional<ScatterSettings>& known)
    : smooth_(smooth), low_(shapes.front().coordinates), high_(low_) {
    for (const ScatteredShape& shape : shapes)
        for (std::size_t d = 0; d < smooth_; ++d) {
            low_[d] = std::min(low_[d], shape.coordinates[d]);
            high_[d] = std::max(high_[d], shape.coordinates[d]);
        }
    if (!known || known->points != shapes.size()) {
        choose(shapes, seconds);
        return;
    }
    if (known->trend.size() == cost_terms) {
        costs_.emplace();
        std::ranges::copy(known->trend, costs_->begin());
    }
    const Kriging::Settings chosen{known->length, known->step, known->noise, known->rough};
    residual_.emplace(residuals(shapes, seconds), chosen);
}

double ScatteredTimes::baseline(const ScatteredShape& shape) const {
    return costs_ ? total_cost(shape.parts, *costs_) * shape.scale : shape.roofline;
}

ScatteredValues ScatteredTimes::residuals(const std::vector<ScatteredShape>& shapes,
                                          std::span<const double> seconds) const {
    ScatteredValues data{smooth_, shapes.front().coordinates.size() - smooth_, {}, {}};
    for (std::size_t i = 0; i < shapes.size(); ++i) {
        const auto& at = shapes[i].coordinates;
        data.coordinates.insert(data.coordinates.end(), at.begin(), at.end());
        data.values.push_back(std::log(seconds[i] / baseline(shapes[i])));
    }
    return data;
}

void ScatteredTimes::choose(const std::vector<ScatteredShape>& shapes, std::span<const double> seconds) {
    residual_.emplace(residuals(shapes, seconds));
    if (shapes.size() < 2 * cost_terms) return;
    std::vector<CostTerms> parts;
    for (const ScatteredShape& shape : shapes) parts.push_back(shape.parts);
    costs_ = fitted_costs(std::move(parts), seconds);
    const Kriging around_costs(residuals(shapes, seconds));
    if (around_costs.log_likelihood() > residual_->log_likelihood())
        residual_ = around_costs;
    else
        costs_.reset();
}

ScatterSettings ScatteredTimes::settings() const {
    const Kriging::Settings& chosen = residual_->settings();
    ScatterSettings out{residual_->size(), {}, chosen.length, chosen.step, chosen.noise, chosen.rough};
    if (costs_) out.trend.assign(costs_->begin(), costs_->end());
    return out;
}

ScatteredTimes::Answer ScatteredTimes::at(const ScatteredShape& shape) const {
    const auto found = residual_->at(shape.coordinates);
    const double around = baseline(shape);
    Answer answer{
        around * std::exp(found.value), found.deviation, false, around, costs_.has_value(), residual_->size()};
    for (std::size_t d = 0; d < smooth_; ++d)
        answer.outside |= shape.coordinates[d] < low_[d] || shape.coordinates[d] > high_[d];
    return answer;
}

std::vector<double> ScatteredTimes::leave_one_out() const {
    std::vector<double> errors = residual_->leave_one_out();
    for (double& e : errors) e = std::abs(std::expm1(e));
    return errors;
}

std::string to_text(const ScatteredTimes::Answer& answer) {
    return fmt::format("  kriging over {} rows: x{:.3f} of {}, {}; within {:.1f}%\n", answer.rows,
                       answer.seconds / answer.baseline, answer.by_parts ? "what its parts cost" : "its roofline",
                       format_seconds(answer.baseline), 100 * answer.uncertainty);
}

}  // namespace orrery::calibrate
