#include "report/search.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/table.hpp"
#include "base/text.hpp"
#include "base/units.hpp"
#include "documents/write_fields.hpp"
#include "report/planned.hpp"
#include "report/records.hpp"
#include "sim/version.hpp"
#include "strategies/plan_fields.hpp"

namespace orrery::report {

namespace {

using Json = nlohmann::ordered_json;
using planning::FoundPlan;
using planning::SearchQuestion;
using planning::SearchResult;
using strategies::Recompute;
using strategies::Strategy;

const planning::ObjectiveRow& objective_of(const SearchQuestion& question) {
    return planning::objectives[static_cast<std::size_t>(question.objective)];
}

std::string recompute(const Strategy& s) {
    if (s.recompute == Recompute::none) return "none";
    if (s.recompute == Recompute::selective) return "selective";
    return s.recompute_num_layers == 0 ? "full" : fmt::format("full, {} layers", s.recompute_num_layers);
}

/// What has no column of its own.
std::string rest(const Strategy& s) {
    std::vector<std::string> words;
    const auto add = [&](bool holds, const std::string& word) {
        if (holds) words.push_back(word);
    };
    add(s.expert > 1, fmt::format("EP{}{}", s.expert, s.expert_tensor == 1 ? " whole experts" : ""));
    add(s.sequence_parallel, "SP");
    add(s.cpu_offloading_num_layers > 0, fmt::format("offload {} layers", s.cpu_offloading_num_layers));
    add(s.optimizer_cpu_offload, "optimizer on host");
    add(s.overlap_grad_reduce, "overlap grad");
    add(s.overlap_param_gather, "overlap param");
    add(s.overlap_p2p, "overlap p2p");
    add(s.tensor > 1 && !s.async_tensor_allreduce, "no async tensor");
    add(s.tensor > 1 && s.pipeline > 1 && !s.sequence_parallel && !s.scatter_gather, "no scatter-gather");
    add(!s.placement.empty(), s.placement);
    add(s.context > 1, fmt::format("context {}", s.context));
    add(s.optimizer_instances > 1, fmt::format("{} groups that share", s.optimizer_instances));
    return fmt::format("{}", fmt::join(words, ", "));
}

std::vector<std::string> plan_cells(const SearchQuestion& question, const FoundPlan& plan) {
    const Strategy& s = plan.strategy;
    std::vector<std::string> cells = question.sites.values(plan.site);
    for (const std::uint32_t number : {s.tensor, s.pipeline, s.data, plan.micro_batch})
        cells.push_back(std::to_string(number));
    const strategies::Schedule& schedule = schedule_of(s.schedule);
    cells.push_back(s.virtual_pipeline > 1 ? fmt::format("{} x{}", schedule.name, s.virtual_pipeline)
                    : s.pipeline == 1      ? "-"
                                           : std::string(schedule.name));
    cells.push_back(recompute(s));
    cells.emplace_back(row_of(s.sharding).name);
    cells.push_back(rest(s));
    return cells;
}

std::vector<Table::Column> plan_columns(const SearchQuestion& question) {
    std::vector<Table::Column> columns;
    for (const planning::Axis& axis : question.sites.axes()) columns.push_back({axis.key, Table::Align::left});
    for (const char* name : {"TP", "PP", "DP", "micro-batch"}) columns.push_back({name});
    for (const char* name : {"schedule", "recompute", "sharding", "and"}) columns.push_back({name, Table::Align::left});
    return columns;
}

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
            fmt::format("{:.1f}%", 100 * outcome.mfu), format_bytes(static_cast<double>(outcome.memory_peak)),
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
    return fmt::format(
        "the scenario's own plan: {} a step, {} tokens/s, {:.1f}% MFU{}; the best found makes {:.2f} x "
        "its tokens/s\n",
        format_seconds(own.step_s), format_count(own.tokens_per_s), 100 * own.mfu,
        own.fits ? "" : ", but it does not fit", best.tokens_per_s / own.tokens_per_s);
}

Json plan_json(const SearchReport& report, const FoundPlan& plan) {
    Json entry;
    entry["plan"] = plan.number;
    if (!report.question->sites.axes().empty()) {
        Json& site = entry["site"] = Json::object();
        const auto values = report.question->sites.values(plan.site);
        for (std::size_t i = 0; i < values.size(); ++i) site[report.question->sites.axes()[i].key] = values[i];
    }
    add_outcome(plan.outcome, entry);
    const planning::ObjectiveRow& objective = objective_of(*report.question);
    if (objective.kind != planning::Objective::step) entry[objective.unit] = plan.counts * objective.scale;
    entry["strategy"] = documents::write_fields(strategies::strategy_fields(), plan.strategy);
    entry["micro_batch_size"] = plan.micro_batch;
    Json set = Json::array();
    for (const scenarios::Override& change : settings(*report.question, plan))
        set.push_back(fmt::format("{}={}", change.path, change.value));
    entry["set"] = std::move(set);
    return entry;
}

}  // namespace

std::string search_text(const SearchReport& report, Style style) {
    const SearchResult& result = *report.result;
    const planning::ObjectiveRow& objective = objective_of(*report.question);
    std::string text =
        fmt::format("{}: plans with the least {}\n\n{}\n", paint(style, Ink::bold, report.question->sites.name()),
                    objective.what, counts(report));
    text += result.proven
                ? "proven: no other plan of this space is better\n\n"
                : paint(style, Ink::warning, "not proven") + ": too many plans for the limit of simulations\n\n";
    text += table_of(*report.question, result.best, style);
    if (result.front.size() > 1)
        text += "\nfaster or with more memory left than any other that was simulated\n" +
                table_of(*report.question, result.front, style);
    text += '\n' + own_line(report);
    for (const auto& [site, problem] : result.impossible) {
        const auto values = report.question->sites.values(site);
        text += fmt::format("no plan on {}: {}\n", fmt::join(values, ", "), problem);
    }
    return text + "run the best with:\n    " + command(report, result.best.front()) + '\n';
}

std::vector<std::string> plan_keys(const SearchQuestion& question) {
    std::vector<std::string> keys;
    for (const planning::Axis& axis : question.sites.axes()) keys.push_back(axis.key);
    for (const auto& field : strategies::strategy_fields()) keys.emplace_back(field.key.name);
    keys.emplace_back("micro_batch_size");
    return keys;
}

std::vector<std::string> plan_values(const SearchQuestion& question, const FoundPlan& plan) {
    std::vector<std::string> cells = question.sites.values(plan.site);
    for (const auto& field : strategies::strategy_fields()) {
        const documents::Setting setting = field.get(plan.strategy);
        const Json value = can_say(field.key, setting) ? to_json(field.key, setting) : Json("");
        cells.push_back(value.is_string() ? value.get<std::string>() : value.dump());
    }
    cells.push_back(std::to_string(plan.micro_batch));
    return cells;
}

bool among(const std::vector<FoundPlan>& list, const FoundPlan& plan) {
    return std::ranges::find(list, plan.number, &FoundPlan::number) != list.end();
}

std::string search_csv(const SearchReport& report) {
    const SearchResult& result = *report.result;
    std::vector<std::string> header{"rank", "plan"};
    for (std::string& key : plan_keys(*report.question)) header.push_back(std::move(key));
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
    Json best = Json::array(), front = Json::array(), impossible = Json::array();
    for (const FoundPlan& plan : result.best) best.push_back(plan_json(report, plan));
    for (const FoundPlan& plan : result.front) front.push_back(plan_json(report, plan));
    for (const auto& [site, problem] : result.impossible)
        impossible.push_back({{"values", report.question->sites.values(site)}, {"problem", problem}});
    Json own = Json::object();
    if (report.own.problem.empty())
        add_outcome(report.own.outcome, own);
    else
        own["problem"] = report.own.problem;
    const Json document = {{"scenario", report.question->sites.name()},
                           {"orrery", sim::version()},
                           {"objective", objective_of(*report.question).name},
                           {"proven", result.proven},
                           {"counts",
                            {{"enumerated", result.plans},
                             {"do_not_fit", result.too_large},
                             {"excluded_by_bound", result.excluded},
                             {"simulated", result.simulated}}},
                           {"own", std::move(own)},
                           {"best", std::move(best)},
                           {"front", std::move(front)},
                           {"impossible", std::move(impossible)}};
    return document.dump(1, ' ', false, Json::error_handler_t::replace) + '\n';
}

}  // namespace orrery::report
