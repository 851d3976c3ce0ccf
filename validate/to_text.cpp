#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "base/table.hpp"
#include "base/units.hpp"
#include "validate/output.hpp"

namespace orrery::validate {

namespace {

using Align = orrery::Table::Align;

std::string percent(std::optional<double> value) { return value ? fmt::format("{:.1f}%", 100 * *value) : "-"; }
std::string signed_percent(std::optional<double> value) { return value ? format_relative(*value) : "-"; }
std::string correlation(std::optional<double> value) { return value ? fmt::format("{:.3f}", *value) : "-"; }

std::string scores(const validate::Table& table) {
    orrery::Table text(
        {{"source", Align::left}, {"rows"}, {"predicted"}, {"skipped"}, {"median"}, {"mean"}, {"bias"}, {"Spearman"}});
    for (const SourceScore& s : table.sources)
        text.row({s.source, fmt::format("{}", s.rows), fmt::format("{}", s.predicted), fmt::format("{}", s.skipped),
                  percent(s.median), percent(s.mean), signed_percent(s.bias), correlation(s.spearman)});
    return text.to_text();
}

/// Skipped rows by reason, the commonest first.
std::string reasons(const validate::Table& table) {
    orrery::Table text({{"source", Align::left}, {"skipped"}, {"because", Align::left}});
    for (const SourceScore& s : table.sources) {
        std::vector<std::pair<std::string, std::size_t>> list(s.reasons.begin(), s.reasons.end());
        std::ranges::stable_sort(list, std::ranges::greater{}, [](const auto& entry) { return entry.second; });
        std::string source = s.source;
        for (const auto& [reason, count] : list) {
            text.row({source, fmt::format("{}", count), reason});
            source.clear();
        }
    }
    return text.rows() == 0 ? "" : fmt::format("\n{}", text.to_text());
}

std::string worst(const validate::Table& table) {
    orrery::Table text({{"worst rows", Align::left}, {"error"}});
    for (const SourceScore& s : table.sources)
        for (const Worst& row : s.worst) text.row({row.id, signed_percent(row.error)});
    return text.rows() == 0 ? "" : fmt::format("\n{}", text.to_text());
}

std::string section(const char* title, const char* unit, const validate::Table& table) {
    if (table.rows.empty()) return "";
    return fmt::format("{}\n{}mean of the source medians: {}   ({})\n{}{}\n", title, scores(table),
                       percent(table.mean_of_medians), unit, reasons(table), worst(table));
}

}  // namespace

std::string to_text(const Report& report) {
    std::string text = section("TRAINING STEPS", "error = predicted / measured - 1, seconds per step", report.steps);
    text += section("MEMORY", "peak bytes of one GPU", report.memory);
    text += section("COLLECTIVES", "median error over the sizes of a row, seconds", report.collectives);
    text +=
        section("WHOLE TRAININGS", "by what was measured; goodput in points, the others relative", report.trainings);
    while (text.ends_with("\n\n")) text.pop_back();
    return text;
}

}  // namespace orrery::validate
