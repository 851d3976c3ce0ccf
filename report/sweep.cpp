#include "report/sweep.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "base/table.hpp"
#include "base/units.hpp"
#include "report/planned.hpp"
#include "report/records.hpp"
#include "sim/version.hpp"

namespace orrery::report {

namespace {

using planning::Answer;
using planning::Outcome;
using planning::Points;
using planning::Sweep;

constexpr std::size_t most_reasons = 12;

std::size_t fitting(const Sweep& sweep) {
    return static_cast<std::size_t>(
        std::ranges::count_if(sweep.best, [&](std::uint64_t point) { return sweep.answers[point].outcome.fits; }));
}

/// Whether some point has failures, checkpoints or input.
bool over_whole_runs(const Sweep& sweep) {
    return std::ranges::any_of(sweep.answers, [](const Answer& each) { return each.outcome.wall_clock_s > 0; });
}

Table table_of(const Points& grid, bool whole_runs) {
    std::vector<Table::Column> columns;
    for (const planning::Axis& axis : grid.axes()) columns.push_back({axis.key, Table::Align::left});
    if (whole_runs) columns.push_back({"whole run"});
    for (Table::Column& column : outcome_columns()) columns.push_back(std::move(column));
    return Table(std::move(columns));
}

std::vector<std::string> cells_of(std::vector<std::string> cells, const Outcome& outcome, bool whole_runs) {
    if (whole_runs) cells.push_back(outcome.whole_run_s() > 0 ? format_seconds(outcome.whole_run_s()) : "");
    for (std::string& cell : outcome_cells(outcome)) cells.push_back(std::move(cell));
    if (!outcome.fits) cells.back() = "does not fit";
    return cells;
}

std::string best_table(const Points& grid, const Sweep& sweep, std::size_t top, Style style) {
    const bool whole_runs = over_whole_runs(sweep);
    Table table = table_of(grid, whole_runs);
    const std::size_t shown = std::min(top, sweep.best.size());
    for (std::size_t i = 0; i < shown; ++i) {
        const std::uint64_t point = sweep.best[i];
        table.row(cells_of(grid.values(point), sweep.answers[point].outcome, whole_runs));
    }
    std::string text = table.to_text({.columns = style.columns});
    if (shown < sweep.best.size())
        text += fmt::format("and {} more: --top, --csv or --json shows them\n", sweep.best.size() - shown);
    return text;
}

/// The fastest point of each number of GPUs, ascending.
std::vector<std::uint64_t> by_gpus(const Sweep& sweep) {
    std::map<std::uint32_t, std::uint64_t> fastest;  // the best come first
    for (const std::uint64_t point : sweep.best) fastest.try_emplace(sweep.answers[point].outcome.gpus, point);
    std::vector<std::uint64_t> points;
    for (const auto& [gpus, point] : fastest) points.push_back(point);
    return points;
}

std::string curve(const Points& grid, const Sweep& sweep, Style style) {
    std::vector<Table::Column> columns{{"GPUs"}, {"step"}, {"tokens/s"}, {"speed-up"}, {"of ideal"}, {"scale factor"}};
    for (const planning::Axis& axis : grid.axes())
        if (axis.key != planning::gpus_key) columns.push_back({axis.key, Table::Align::left});
    Table table(std::move(columns));
    const std::vector<std::uint64_t> points = by_gpus(sweep);
    const Outcome& least = sweep.answers[points.front()].outcome;
    for (const std::uint64_t point : points) {
        const Outcome& outcome = sweep.answers[point].outcome;
        const double speed_up = outcome.tokens_per_s / least.tokens_per_s;
        std::vector<std::string> cells{std::to_string(outcome.gpus),
                                       format_seconds(outcome.step_s),
                                       format_count(outcome.tokens_per_s),
                                       fmt::format("{:.2f}", speed_up),
                                       fmt::format("{:.1f}%", 100 * speed_up * least.gpus / outcome.gpus),
                                       fmt::format("{:.3f}", outcome.scale_factor)};
        const std::vector<std::string> values = grid.values(point);
        for (std::size_t i = 0; i < values.size(); ++i)
            if (grid.axes()[i].key != planning::gpus_key) cells.push_back(values[i]);
        table.row(std::move(cells));
    }
    return fmt::format(
        "\nthe best of each number of GPUs, against {} GPUs with the same batch; scale factor: "
        "against one model replica with its share of the batch\n{}",
        least.gpus, table.to_text({.columns = style.columns}));
}

std::string problems(const Points& grid, const Sweep& sweep, Style style) {
    struct Reason {
        std::uint64_t points = 0, first = 0;
    };
    std::map<std::string, Reason> reasons;
    for (std::uint64_t point = 0; point < sweep.answers.size(); ++point) {
        const std::string& problem = sweep.answers[point].problem;
        if (problem.empty()) continue;
        Reason& reason = reasons.try_emplace(problem, Reason{0, point}).first->second;
        ++reason.points;
    }
    if (reasons.empty()) return "";
    std::vector<std::pair<std::string, Reason>> list(reasons.begin(), reasons.end());
    std::ranges::stable_sort(list, {}, [](const auto& each) { return each.second.first; });
    Table table({{"points"}, {"such as", Table::Align::left}, {"why not", Table::Align::left}});
    for (const auto& [text, reason] : list) {
        if (table.rows() == most_reasons) break;
        std::string example;
        const std::vector<std::string> values = grid.values(reason.first);
        for (std::size_t i = 0; i < values.size(); ++i)
            example += fmt::format("{}{}={}", i > 0 ? " " : "", grid.axes()[i].key, values[i]);
        table.row({std::to_string(reason.points), example, text});
    }
    std::string text = "\nno legal scenario\n" + table.to_text({.columns = style.columns});
    if (list.size() > most_reasons)
        text += fmt::format("and {} more reasons: --csv or --json has them\n", list.size() - most_reasons);
    return text;
}

/// By point its place among the best, from 1; 0: it has none.
std::vector<std::uint64_t> ranks(const Sweep& sweep) {
    std::vector<std::uint64_t> rank(sweep.answers.size());
    for (std::size_t i = 0; i < sweep.best.size(); ++i) rank[sweep.best[i]] = i + 1;
    return rank;
}

}  // namespace

std::string sweep_text(const Points& grid, const Sweep& sweep, std::size_t top, Style style) {
    const std::size_t fit = fitting(sweep);
    std::string text =
        fmt::format("{}: {} point{}, {} fit{}, {} do not fit, {} are no legal scenario\n\n",
                    paint(style, Ink::bold, grid.name()), grid.points(), grid.points() == 1 ? "" : "s", fit,
                    fit == 1 ? "s" : "", sweep.best.size() - fit, grid.points() - sweep.best.size());
    text += best_table(grid, sweep, top, style);
    if (grid.over_gpus()) text += curve(grid, sweep, style);
    return text + problems(grid, sweep, style);
}

std::string sweep_csv(const Points& grid, const Sweep& sweep) {
    std::vector<std::string> header;
    for (const planning::Axis& axis : grid.axes()) header.push_back(axis_name(axis.key));
    header.emplace_back("rank");
    for (std::string& name : outcome_names()) header.push_back(std::move(name));
    const std::size_t width = outcome_names().size();
    header.emplace_back("problem");
    std::string text = csv_line(header);
    const std::vector<std::uint64_t> rank = ranks(sweep);
    for (std::uint64_t point = 0; point < sweep.answers.size(); ++point) {
        const Answer& answer = sweep.answers[point];
        std::vector<std::string> cells = grid.values(point);
        cells.push_back(rank[point] > 0 ? std::to_string(rank[point]) : "");
        const bool told = answer.problem.empty();
        const auto values = told ? outcome_values(answer.outcome) : std::vector<std::string>(width);
        cells.insert(cells.end(), values.begin(), values.end());
        cells.push_back(answer.problem);
        text += csv_line(cells);
    }
    return text;
}

std::string sweep_json(const Points& grid, const Sweep& sweep) {
    using Json = nlohmann::ordered_json;
    Json axes = Json::array(), points = Json::array();
    for (const planning::Axis& axis : grid.axes()) axes.push_back({{"key", axis.key}, {"values", axis.values}});
    const std::vector<std::uint64_t> rank = ranks(sweep);
    for (std::uint64_t point = 0; point < sweep.answers.size(); ++point) {
        const Answer& answer = sweep.answers[point];
        Json& entry = points.emplace_back();
        entry["values"] = grid.values(point);
        if (answer.problem.empty()) {
            entry["rank"] = rank[point];
            add_outcome(answer.outcome, entry);
        } else {
            entry["problem"] = answer.problem;
        }
    }
    const std::size_t fit = fitting(sweep);
    const Json document = {{"scenario", grid.name()},
                           {"orrery", sim::version()},
                           {"axes", std::move(axes)},
                           {"counts",
                            {{"points", grid.points()},
                             {"fit", fit},
                             {"do_not_fit", sweep.best.size() - fit},
                             {"illegal", grid.points() - sweep.best.size()}}},
                           {"points", std::move(points)}};
    return document.dump(1, ' ', false, Json::error_handler_t::replace) + '\n';
}

}  // namespace orrery::report
