#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "base/table.hpp"
#include "base/units.hpp"
#include "validate/output.hpp"
#include "validate/repeats.hpp"

namespace orrery::validate {

namespace {

using Align = orrery::Table::Align;

std::string percent(std::optional<double> value) { return value ? fmt::format("{:.1f}%", 100 * *value) : "-"; }
std::string signed_percent(std::optional<double> value) { return value ? format_relative(*value) : "-"; }
std::string correlation(std::optional<double> value) { return value ? fmt::format("{:.3f}", *value) : "-"; }

std::string scores(const validate::Table& table) {
    orrery::Table text({{"source", Align::left},
                        {"rows"},
                        {"predicted"},
                        {"skipped"},
                        {"median"},
                        {"mean"},
                        {"bias"},
                        {"Spearman"},
                        {"in order"}});
    for (const SourceScore& s : table.sources)
        text.row({s.source, fmt::format("{}", s.rows), fmt::format("{}", s.predicted), fmt::format("{}", s.skipped),
                  percent(s.median), percent(s.mean), signed_percent(s.bias), correlation(s.order.spearman),
                  s.order.pairs == 0 ? "-" : fmt::format("{} / {}", s.order.ordered, s.order.pairs)});
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

/// "mean of the source medians: 23.6%   within 10%: 41% of 2,246 rows   inside their interval: 78%"
std::string summary(const Summary& of, const char* which) {
    std::string text = fmt::format("mean of the source medians: {}   within 10%: {} of {} rows",
                                   percent(of.mean_of_medians), percent(of.within_tenth), of.rows);
    if (of.inside) text += fmt::format("   inside their interval: {}", percent(of.inside));
    if (of.ordered) text += fmt::format("   plans in order: {}", percent(of.ordered));
    return fmt::format("{}   ({})\n", text, which);
}

/// How far the measurements are from each other, where one scenario has several.
std::string noise(const validate::Table& table) {
    const Repeats found = repeats(table.rows);
    if (!found.spread) return "";
    return fmt::format(
        "measured more than once: {} scenarios, {} rows, {} from their own median in the median; {} of them predicted "
        "between the least and the most measured\n",
        found.scenarios, found.rows, percent(found.spread), percent(found.inside));
}

std::string section(const char* title, const char* unit, const validate::Table& table) {
    if (table.rows.empty()) return "";
    const std::string all =
        fmt::format("{} sources with {} rows and more; {}", table.all.sources, table.all.least, unit);
    const std::string independent =
        fmt::format("{} of them that no constant was taken from or chosen by", table.independent.sources);
    return fmt::format("{}\n{}{}{}{}{}{}\n", title, scores(table), summary(table.all, all.c_str()),
                       summary(table.independent, independent.c_str()), noise(table), reasons(table), worst(table));
}

}  // namespace

std::string to_text(const Report& report) {
    std::string text = section("TRAINING STEPS", "error = predicted / measured - 1, seconds per step", report.steps);
    text += section("MEMORY", "peak bytes of one GPU", report.memory);
    text += section("COLLECTIVES", "median error over the sizes of a row, seconds", report.collectives);
    text +=
        section("WHOLE TRAININGS", "by what was measured; goodput in points, the others relative", report.trainings);
    text += section("RATIOS", "samples a second of one plan over another's", report.ratios);
    while (text.ends_with("\n\n")) text.pop_back();
    return text;
}

}  // namespace orrery::validate
