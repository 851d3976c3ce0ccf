#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>

#include "validate/output.hpp"
#include "validate/repeats.hpp"

namespace orrery::validate {

namespace {

using json = nlohmann::ordered_json;

json number(std::optional<double> value) { return value && std::isfinite(*value) ? json(*value) : json(nullptr); }

enum class Unit : std::uint8_t { seconds, bytes, own };

json row_json(const Result& row, Unit unit, bool sized) {
    const auto value = [&](double x) { return row.predicted ? number(x) : json(nullptr); };
    json result = {{"id", row.id}, {"source", row.source}, {"kind", row.kind}};
    result["status"] = row.predicted ? "predicted" : "skipped";
    result["reason"] = row.predicted ? json(nullptr) : json(row.reason);
    const char* const suffix = unit == Unit::bytes ? "_bytes" : unit == Unit::seconds ? "_s" : "";
    result[fmt::format("measured{}", suffix)] = value(row.measured);
    result[fmt::format("predicted{}", suffix)] = value(row.prediction);
    result["error"] = value(row.error);
    if (!row.group.empty()) result["group"] = row.group;
    if (row.scenario > 0) result["scenario"] = row.scenario;
    if (row.high > 0) result["interval_s"] = {{"low", row.low}, {"high", row.high}};
    if (!sized) return result;
    result["signed_error"] = value(row.signed_error);
    result["sizes"] = row.predicted ? json(row.sizes) : json(nullptr);
    return result;
}

json source_json(const SourceScore& score) {
    json reasons = json::object(), worst = json::array();
    for (const auto& [reason, count] : score.reasons) reasons[reason] = count;
    for (const Worst& row : score.worst) worst.push_back({{"id", row.id}, {"error", number(row.error)}});
    return {{"source", score.source},
            {"rows", score.rows},
            {"predicted", score.predicted},
            {"skipped", score.skipped},
            {"reasons", std::move(reasons)},
            {"median", number(score.median)},
            {"mean", number(score.mean)},
            {"bias", number(score.bias)},
            {"spearman", number(score.order.spearman)},
            {"pairs", score.order.pairs},
            {"ordered_pairs", score.order.ordered},
            {"worst", std::move(worst)}};
}

void fill(json& result, const Table& table, Unit unit, bool sized) {
    result["rows"] = json::array();
    result["sources"] = json::array();
    for (const Result& row : table.rows) result["rows"].push_back(row_json(row, unit, sized));
    for (const SourceScore& source : table.sources) result["sources"].push_back(source_json(source));
    result["mean_of_medians"] = number(table.all.mean_of_medians);
    result["within_tenth"] = number(table.all.within_tenth);
    result["inside_interval"] = number(table.all.inside);
    result["spearman"] = number(table.all.spearman);
    result["ordered"] = number(table.all.ordered);
    result["independent"] = {{"sources", table.independent.sources},
                             {"rows", table.independent.rows},
                             {"mean_of_medians", number(table.independent.mean_of_medians)},
                             {"within_tenth", number(table.independent.within_tenth)},
                             {"inside_interval", number(table.independent.inside)},
                             {"spearman", number(table.independent.spearman)},
                             {"ordered", number(table.independent.ordered)}};
    const Repeats repeated = repeats(table.rows);
    result["repeated"] = {{"scenarios", repeated.scenarios},
                          {"rows", repeated.rows},
                          {"spread", number(repeated.spread)},
                          {"inside_measured", number(repeated.inside)}};
}

}  // namespace

nlohmann::ordered_json to_json(const Report& report) {
    json result = {{"version", 1}};
    fill(result, report.steps, Unit::seconds, false);
    fill(result["memory"], report.memory, Unit::bytes, false);
    fill(result["collectives"], report.collectives, Unit::seconds, true);
    if (!report.trainings.rows.empty()) fill(result["trainings"], report.trainings, Unit::own, false);
    if (!report.ratios.rows.empty()) fill(result["ratios"], report.ratios, Unit::own, false);
    return result;
}

}  // namespace orrery::validate
