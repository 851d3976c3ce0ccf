#include "report/planned.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/units.hpp"
#include "planning/sweep/points.hpp"

namespace orrery::report {

using planning::Outcome;
using planning::OutcomeField;

std::vector<Table::Column> outcome_columns() {
    return {{"GPUs"}, {"step"}, {"tokens/s"}, {"MFU"}, {"memory"}, {"of"}, {"most of it", Table::Align::left}};
}

std::vector<std::string> outcome_cells(const Outcome& outcome) {
    return {std::to_string(outcome.gpus),
            format_seconds(outcome.step_s),
            format_count(outcome.tokens_per_s),
            fmt::format("{:.1f}%", 100 * outcome.mfu),
            format_bytes(static_cast<double>(outcome.memory_needed)),
            format_bytes(static_cast<double>(outcome.memory_capacity)),
            outcome.bottleneck};
}

std::string axis_name(const std::string& key) { return key == planning::gpus_key ? "gpus_asked" : key; }

std::vector<std::string> outcome_names() {
    std::vector<std::string> names;
    for (const OutcomeField& field : planning::outcome_fields()) names.emplace_back(field.name);
    return names;
}

namespace {

/// Not a scale factor that nobody asked for, nor the days of a training whose tokens nobody stated.
bool is_known(const Outcome& outcome, const OutcomeField& field) {
    const auto* const number = std::get_if<double Outcome::*>(&field.member);
    const bool on_request =
        number != nullptr && (*number == &Outcome::scale_factor || *number == &Outcome::training_time_s ||
                              *number == &Outcome::wall_clock_s);
    return !on_request || outcome.*(*number) > 0;
}

}  // namespace

std::vector<std::string> outcome_values(const Outcome& outcome) {
    std::vector<std::string> values;
    for (const OutcomeField& field : planning::outcome_fields()) {
        values.emplace_back();
        if (is_known(outcome, field))
            std::visit([&](auto member) { values.back() = fmt::format("{}", outcome.*member); }, field.member);
    }
    return values;
}

void add_outcome(const Outcome& outcome, nlohmann::ordered_json& object) {
    for (const OutcomeField& field : planning::outcome_fields()) {
        nlohmann::ordered_json& value = object[std::string(field.name)] = nullptr;
        if (is_known(outcome, field)) std::visit([&](auto member) { value = outcome.*member; }, field.member);
    }
}

}  // namespace orrery::report
