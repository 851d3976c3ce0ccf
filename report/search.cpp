#include "report/search.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/table.hpp"
#include "base/text.hpp"
#include "base/units.hpp"
#include "planning/search/space.hpp"
#include "report/planned.hpp"
#include "report/records.hpp"
#include "report/search_clusters.hpp"
#include "report/search_plan.hpp"
#include "sim/version.hpp"

namespace orrery::report {

namespace {

using Json = nlohmann::ordered_json;
using planning::FoundPlan;
using planning::SearchQuestion;
using planning::SearchResult;

std::string table_of(const SearchQuestion& question, const std::vector<FoundPlan>& plans, Style style) {
    const planning::ObjectiveRow& objective = objective_of(question);
    const bool counted = objective.kind != planning::Objective::step;
    std::vector<Table::Column> columns;
    if (counted) columns.push_back({std::string(objective.unit)});
    for (const char* name : {"step", "tokens/s", "MFU", "memory", "free"}) columns.push_back({name});
    for (Table::Column& column : plan_columns(question)) columns.push_back(std::move(column));
    Table table(std::move(columns));
    for (const FoundPlan& plan : plans) {
        const planning::Outcome& outcome = plan.outcome;
        std::vector<std::string> cells{
            format_seconds(outcome.step_s), format_count(outcome.tokens_per_s),
            fmt::format("{:.1f}%", 100 * outcome.mfu), format_bytes(static_cast<double>(outcome.memory_needed)),
            fmt::format("{:.0f}%", 100 * outcome.headroom() / static_cast<double>(outcome.memory_capacity))};
        if (counted) cells.insert(cells.begin(), fmt::format("{:.4g}", plan.counts * objective.scale));
        for (std::string& cell : plan_cells(question, plan)) cells.push_back(std::move(cell));
        table.row(std::move(cells));
    }
    return table.to_text({.columns = style.columns});
}

std::string command(const SearchReport& report, const FoundPlan& plan) {
    std::string text = report.simulate;
    for (const scenarios::Override& change : settings(*report.question, plan))
        text += " --set " + shell_word(fmt::format("{}={}", change.path, change.value));
    return text;
}

std::string counts(const SearchReport& report) {
    const SearchResult& result = *report.result;
    const double share = 100.0 / static_cast<double>(result.plans);
    Table table({{""}, {"plans"}, {"share"}});
    const auto row = [&](const char* what, std::uint64_t plans) {
        table.row({what, format_grouped(plans), fmt::format("{:.2f}%", share * static_cast<double>(plans))});
    };
    row("enumerated", result.plans);
    row("do not fit into memory", result.too_large);
    row("excluded by their bound", result.excluded);
    row("simulated", result.simulated);
    return table.to_text(Table::Style{.header = false, .header_rule = false});
}

std::string own_line(const SearchReport& report) {
    if (!report.own.problem.empty()) return fmt::format("the scenario's own plan: {}\n", report.own.problem);
    const planning::Outcome &own = report.own.outcome, &best = report.result->best.front().outcome;
    const bool better = own.fits && own.tokens_per_s > best.tokens_per_s;
    return fmt::format(
        "the scenario's own plan: {} a step, {} tokens/s, {:.1f}% MFU{}; the best found makes {:.2f} x "
        "its tokens/s{}\n",
        format_seconds(own.step_s), format_count(own.tokens_per_s), 100 * own.mfu,
        own.fits ? "" : ", but it does not fit", best.tokens_per_s / own.tokens_per_s,
        better ? ": it has settings that are no axis of a search, such as strategy.pipeline_layers (orrery partition)"
               : "");
}

/// What the answer is proven, or not, among: the keys that vary, those of which others are to be asked for, those that
/// are held, and that all else is the scenario's.
std::string space_text(const SearchQuestion& question) {
    std::vector<std::string> varied, single, held;
    for (const planning::Row& row : planning::rows()) {
        if (std::ranges::any_of(question.given, [&](const auto& given) { return given.first == row.key; })) continue;
        (row.one_value ? single : varied).emplace_back(row.key.substr(row.key.find('.') + 1));
    }
    for (const auto& [key, values] : question.given) held.push_back(fmt::format("{}={}", key, join(values, ",")));
    std::string text = fmt::format("varied: {}\n", join(varied));
    if (!single.empty()) text += fmt::format("one value each, others by --vary: {}\n", join(single));
    if (!held.empty()) text += fmt::format("held: {}\n", join(held));
    return text + "other keys of single plans as if absent, all else as the scenario says\n\n";
}

}  // namespace

std::string search_text(const SearchReport& report, Style style) {
    const SearchResult& result = *report.result;
    const planning::ObjectiveRow& objective = objective_of(*report.question);
    std::string text =
        fmt::format("{}: plans with the least {}\n\n{}\n", paint(style, Ink::bold, report.question->sites.name()),
                    objective.what, counts(report));
    text += result.proven ? "proven: no other plan of this space is better\n"
                          : fmt::format("{}: {}\n", paint(style, Ink::warning, "not proven"),
                                        result.limited ? "too many plans for the limit of simulations (--most)"
                                                       : "a simulated plan takes less than its bound");
    text += space_text(*report.question) + table_of(*report.question, result.best, style);
    if (result.front.size() > 1)
        text += "\nfaster or with more memory left than any other that was simulated\n" +
                table_of(*report.question, result.front, style);
    text += clusters_text(*report.question, result, style);
    text += '\n' + own_line(report);
    for (const auto& [site, problem] : result.impossible) {
        const auto values = report.question->sites.values(site);
        text += fmt::format("no plan on {}: {}\n", fmt::join(values, ", "), problem);
    }
    return text + "run the best with:\n    " + command(report, result.best.front()) + '\n';
}

bool among(const std::vector<FoundPlan>& list, const FoundPlan& plan) {
    return std::ranges::find(list, plan.number, &FoundPlan::number) != list.end();
}

std::string search_csv(const SearchReport& report) {
    const SearchResult& result = *report.result;
    std::vector<std::string> header{"rank", "plan"};
    for (const std::string& key : plan_keys(*report.question)) header.push_back(axis_name(key));
    for (std::string& name : outcome_names()) header.push_back(std::move(name));
    header.emplace_back("on_front");
    std::string text = csv_line(header);
    const auto line = [&](const std::string& rank, const FoundPlan& plan, bool on_front) {
        std::vector<std::string> cells{rank, std::to_string(plan.number)};
        for (std::string& value : plan_values(*report.question, plan)) cells.push_back(std::move(value));
        for (std::string& value : outcome_values(plan.outcome)) cells.push_back(std::move(value));
        cells.emplace_back(on_front ? "true" : "false");
        text += csv_line(cells);
    };
    for (std::size_t i = 0; i < result.best.size(); ++i)
        line(std::to_string(i + 1), result.best[i], among(result.front, result.best[i]));
    for (const FoundPlan& plan : result.front)
        if (!among(result.best, plan)) line("", plan, true);
    return text;
}

std::string search_json(const SearchReport& report) {
    const SearchResult& result = *report.result;
    const SearchQuestion& question = *report.question;
    Json best = Json::array(), front = Json::array(), impossible = Json::array();
    for (const FoundPlan& plan : result.best) best.push_back(plan_json(question, plan));
    for (const FoundPlan& plan : result.front) front.push_back(plan_json(question, plan));
    for (const auto& [site, problem] : result.impossible)
        impossible.push_back({{"values", question.sites.values(site)}, {"problem", problem}});
    Json own = Json::object();
    if (report.own.problem.empty())
        add_outcome(report.own.outcome, own);
    else
        own["problem"] = report.own.problem;
    const Json document = {{"scenario", question.sites.name()},
                           {"orrery", sim::version()},
                           {"objective", objective_of(question).name},
                           {"proven", result.proven},
                           {"counts",
                            {{"enumerated", result.plans},
                             {"do_not_fit", result.too_large},
                             {"excluded_by_bound", result.excluded},
                             {"simulated", result.simulated}}},
                           {"own", std::move(own)},
                           {"best", std::move(best)},
                           {"front", std::move(front)},
                           {"clusters", clusters_json(question, result)},
                           {"impossible", std::move(impossible)}};
    return document.dump(1, ' ', false, Json::error_handler_t::replace) + '\n';
}

}  // namespace orrery::report
