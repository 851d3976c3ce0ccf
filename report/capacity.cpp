#include "report/capacity.hpp"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "base/table.hpp"
#include "base/units.hpp"
#include "report/whole_run.hpp"
#include "scenarios/scopes.hpp"

namespace orrery::report {

namespace {

using capacity::Answer;
using capacity::CandidateAnswer;
using capacity::Option;
using capacity::Question;
using reliability::Range;
using Json = nlohmann::ordered_json;

/// "27.1 - 40.2"
std::string between(const Range& range) {
    const std::string low = format_count(range.low), high = format_count(range.high);
    return low == high ? low : fmt::format("{} - {}", low, high);
}

std::string plan_text(const Question& question, const Answer& answer, std::size_t candidate, const Option& option) {
    const auto strategy = scenarios::strategy_in_keys(answer.plans[candidate][option.plan].scenario, question.file);
    const auto size = [&](const char* key, const char* other) {
        if (strategy.contains(key)) return strategy[key].dump();
        return strategy.contains(other) ? strategy[other].dump() : std::string("1");
    };
    return fmt::format("TP{} PP{} DP{}", size("tensor", "tensor_model_parallel_size"),
                       size("pipeline", "pipeline_model_parallel_size"), option.facts.job.replicas);
}

/// "16 of 160" where the candidate has more than its plan takes, and they are paid.
std::string gpus_text(const Option& option) {
    const std::uint32_t used = option.facts.job.gpus, all = option.facts.cluster_gpus;
    return all > used && option.held >= all ? fmt::format("{} of {}", used, all) : fmt::format("{}", used);
}

std::string asked(const Question& question) {
    std::string text = fmt::format("{} tokens", format_count(question.tokens));
    if (question.deadline_s > 0) text += fmt::format(" in {}", format_seconds(question.deadline_s));
    if (question.budget > 0)
        text += fmt::format(" for at most {} {}", format_count(question.budget),
                            question.candidates.front().costs.currency);
    return text + fmt::format("; a step may be off by {:.0f}%", 100 * question.step_error);
}

Table candidates_table(const Question& question, const Answer& answer) {
    bool priced = false;
    for (const CandidateAnswer& each : answer.candidates) priced = priced || (each.best && each.best->money);
    std::vector<Table::Column> columns{{"candidate", Table::Align::left},
                                       {"GPUs"},
                                       {"plan", Table::Align::left},
                                       {"MFU"},
                                       {"days"},
                                       {"goodput"},
                                       {"GPU-hours"}};
    if (priced) columns.push_back({question.candidates.front().costs.currency});
    for (const char* title : {"MWh", "t CO2"}) columns.push_back({title});
    columns.push_back({"binds", Table::Align::left});
    Table table(columns);
    for (std::size_t i = 0; i < answer.candidates.size(); ++i) {
        const CandidateAnswer& each = answer.candidates[i];
        if (!each.best) {
            std::vector<std::string> cells(columns.size());
            cells.front() = each.name;
            cells.back() = each.binds;
            table.row(cells);
            continue;
        }
        const Option& best = *each.best;
        std::vector<std::string> cells{each.name,
                                       gpus_text(best),
                                       plan_text(question, answer, i, best),
                                       fmt::format("{:.1f}%", 100 * best.facts.mfu),
                                       between(best.days),
                                       fmt::format("{:.1f}%", 100 * best.forecast.goodput()),
                                       between(best.gpu_hours)};
        if (priced) cells.push_back(best.money ? between(*best.money) : "-");
        cells.push_back(best.mwh.high > 0 ? between(best.mwh) : "-");
        cells.push_back(best.co2_tonnes.high > 0 ? between(best.co2_tonnes) : "-");
        cells.push_back(each.binds);
        table.row(cells);
    }
    return table;
}

std::string tornado_text(const Question& question, const CandidateAnswer& shown) {
    Table table({{fmt::format("{}, if", shown.name), Table::Align::left},
                 {"days"},
                 {question.candidates.front().costs.currency},
                 {"moves"}});
    for (const capacity::Swing& swing : shown.tornado)
        table.row({swing.input, fmt::format("{:.1f} to {:.1f}", swing.days.low, swing.days.high),
                   swing.money
                       ? fmt::format("{} to {}", format_count(swing.money->low), format_count(swing.money->high))
                       : "-",
                   fmt::format("{:.1f}%", 100 * swing.effect)});
    return table.rows() == 0 ? "" : '\n' + table.to_text();
}

Json pair(const Range& range) { return {range.low, range.high}; }

Json option_json(const Option& best) {
    const reliability::TrainingRun& run = best.forecast.run;
    return {{"gpus", best.facts.job.gpus},
            {"gpus_held", best.held},
            {"step_time_s", best.facts.job.step_s},
            {"mfu", best.facts.mfu},
            {"fits", best.facts.fits},
            {"headroom_bytes", best.facts.headroom_bytes},
            {"goodput", best.forecast.goodput()},
            {"failures", best.forecast.failures},
            {"mtbf_s", run.failures_per_s > 0 ? Json(run.mtbf()) : Json()},
            {"checkpoint_interval_s", std::isfinite(run.interval) ? Json(run.paced_interval()) : Json()},
            {"wall_clock_s", best.forecast.seconds()},
            {"days", pair(best.days)},
            {"gpu_hours", pair(best.gpu_hours)},
            {"money", best.money ? pair(*best.money) : Json()},
            {"mwh", known_range(best.mwh)},
            {"co2_tonnes", known_range(best.co2_tonnes)}};
}

}  // namespace

std::string capacity_text(const Question& question, const Answer& answer, Style style) {
    std::string text = fmt::format("{}   {}\n\n{}", paint(style, Ink::bold, question.name), asked(question),
                                   candidates_table(question, answer).to_text({.columns = style.columns}));
    for (const CandidateAnswer& each : answer.candidates)
        for (const std::string& why : each.refused) text += fmt::format("refused     {}: {}\n", each.name, why);
    text += '\n';
    if (answer.chosen) {
        text += fmt::format("{} {}\n", paint(style, Ink::good, "ANSWER    "), answer.candidates[*answer.chosen].name);
    } else {
        text +=
            fmt::format("{} none of the candidates; what binds each is above\n", paint(style, Ink::bad, "ANSWER    "));
    }
    const CandidateAnswer& shown = answer.candidates[answer.chosen.value_or(0)];
    text += tornado_text(question, shown);
    return text + fmt::format(
                      "\nranges: a step quicker or slower by its error, failures at their tenths, power from GPUs "
                      "alone to whole nodes\n");
}

Json capacity_json(const Question& question, const Answer& answer) {
    Json result = {{"version", 1},
                   {"question",
                    {{"name", question.name},
                     {"tokens", question.tokens},
                     {"deadline_s", question.deadline_s > 0 ? Json(question.deadline_s) : Json()},
                     {"budget", question.budget > 0 ? Json(question.budget) : Json()},
                     {"step_error", question.step_error}}},
                   {"chosen", answer.chosen ? Json(answer.candidates[*answer.chosen].name) : Json()},
                   {"candidates", Json::array()}};
    for (std::size_t i = 0; i < answer.candidates.size(); ++i) {
        const CandidateAnswer& each = answer.candidates[i];
        const capacity::Candidate& asked_of = question.candidates[i];
        Json candidate = {{"name", each.name}, {"meets", each.meets}, {"binds", each.binds}};
        candidate["refused"] = each.refused;
        candidate["currency"] = asked_of.costs.currency;
        candidate["strategy"] =
            each.best ? Json::parse(answer.plans[i][each.best->plan].scenario.at("strategy").dump()) : Json();
        candidate["best"] = each.best ? option_json(*each.best) : Json();
        candidate["tornado"] = Json::array();
        for (const capacity::Swing& swing : each.tornado)
            candidate["tornado"].push_back({{"input", swing.input},
                                            {"days", pair(swing.days)},
                                            {"money", swing.money ? pair(*swing.money) : Json()},
                                            {"effect", swing.effect}});
        result["candidates"].push_back(std::move(candidate));
    }
    return result;
}

}  // namespace orrery::report
