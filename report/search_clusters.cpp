#include "report/search_clusters.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/table.hpp"
#include "base/units.hpp"
#include "report/search_plan.hpp"

namespace orrery::report {

namespace {

using planning::ClusterBest;

const char* money_of(const planning::SearchQuestion& question) {
    return question.prices.empty() ? "GPU-hours" : "cost";
}

}  // namespace

std::string clusters_text(const planning::SearchQuestion& question, const planning::SearchResult& result, Style style) {
    if (result.clusters.empty()) return "";
    const bool says_gpus = std::ranges::count(question.sites.axes(), "gpus", &planning::Axis::key) == 0;
    std::vector<Table::Column> columns{{"", Table::Align::left}, {"tokens"}, {"time"}, {money_of(question)}, {"step"}};
    if (says_gpus) columns.insert(columns.begin() + 1, {"GPUs"});
    for (Table::Column& column : plan_columns(question)) columns.push_back(std::move(column));
    Table table(std::move(columns));
    bool all_proven = true;
    for (const ClusterBest& each : result.clusters) {
        all_proven = all_proven && each.proven;
        std::vector<std::string> cells{each.on_front ? "*" : "", format_count(each.tokens), format_seconds(each.time_s),
                                       format_count(each.cost), format_seconds(each.plan.outcome.step_s)};
        if (says_gpus) cells.insert(cells.begin() + 1, format_grouped(static_cast<std::uint64_t>(each.gpus)));
        for (std::string& cell : plan_cells(question, each.plan)) cells.push_back(std::move(cell));
        table.row(std::move(cells));
    }
    return fmt::format("\nthe best plan of each cluster{}; * none is both faster and cheaper\n{}",
                       all_proven ? ", proven" : ", not proven of all", table.to_text({.columns = style.columns}));
}

nlohmann::ordered_json clusters_json(const planning::SearchQuestion& question, const planning::SearchResult& result) {
    auto list = nlohmann::ordered_json::array();
    for (const ClusterBest& each : result.clusters) {
        nlohmann::ordered_json entry{{"gpus", each.gpus}, {"tokens", each.tokens}, {"time_s", each.time_s}};
        entry[question.prices.empty() ? "gpu_hours" : "cost"] = each.cost;
        entry["on_front"] = each.on_front;
        entry["proven"] = each.proven;
        entry.update(plan_json(question, each.plan));
        list.push_back(std::move(entry));
    }
    return list;
}

}  // namespace orrery::report
