#include "report/keeping_step.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/table.hpp"
#include "base/units.hpp"

namespace orrery::report {

namespace {

using synchrony::Outcome;
using synchrony::WorkerTime;
using Json = nlohmann::ordered_json;

std::string percent(double share) { return fmt::format("{:.1f}%", 100 * share); }

std::string mode_text(const synchrony::Options& options) {
    std::string text(name(options.mode));
    if (options.mode == synchrony::Mode::ssp) text += fmt::format(" with staleness {}", options.staleness);
    if (options.averages()) text += fmt::format(", an average every {} steps", options.local_steps);
    return text + (options.serves() ? " over parameter servers" : " over all-reduce");
}

std::vector<std::string> cells(const std::string& title, const WorkerTime& of, double seconds, double replicas) {
    const double all = seconds * replicas;
    return {title, fmt::format("{:.4g}", static_cast<double>(of.steps) / replicas), percent(of.computing / all),
            percent(of.exchanging / all), percent(of.waiting / all)};
}

/// Every replica where they are few, else the first ones and the mean of the others.
std::string replicas_table(const Outcome& window) {
    constexpr std::size_t most = 8;
    Table table({{"replica", Table::Align::left}, {"steps"}, {"computing"}, {"exchanging"}, {"waiting"}});
    const std::size_t shown = window.workers.size() <= most + 1 ? window.workers.size() : most;
    for (std::size_t w = 0; w < shown; ++w) table.row(cells(std::to_string(w), window.workers[w], window.seconds, 1));
    WorkerTime rest;
    for (std::size_t w = shown; w < window.workers.size(); ++w) {
        rest.steps += window.workers[w].steps;
        rest.computing += window.workers[w].computing;
        rest.exchanging += window.workers[w].exchanging;
        rest.waiting += window.workers[w].waiting;
    }
    if (const std::size_t others = window.workers.size() - shown; others > 0)
        table.row(cells(fmt::format("{} others", others), rest, window.seconds, static_cast<double>(others)));
    return table.to_text();
}

/// "0: 40%, 1: 35%, 2: 25%"; of many the first ones.
std::string distribution(const Outcome& window) {
    if (window.job.options.averages()) return "evenly, from one average to the next";
    constexpr std::size_t most = 10;
    double all = 0;
    for (const std::uint64_t count : window.staleness) all += static_cast<double>(count);
    std::string text;
    for (std::size_t steps = 0; steps < std::min(most, window.staleness.size()); ++steps)
        text += fmt::format("{}{}: {:.0f}%", steps == 0 ? "" : ", ", steps,
                            100 * static_cast<double>(window.staleness[steps]) / all);
    return window.staleness.size() > most ? text + ", ..." : text;
}

}  // namespace

std::string warm_up_line(const sim::WarmUp& stage) {
    const std::string share = stage.share > 0 ? fmt::format(" ({} of the training)", percent(stage.share)) : "";
    std::string text =
        fmt::format("warm-up of {} steps{} of {}; a GPU then sends {} a step instead of {}",
                    format_grouped(static_cast<std::uint64_t>(stage.steps)), share, format_seconds(stage.step_time_s),
                    format_bytes(stage.later_bytes), format_bytes(stage.bytes));
    if (stage.share > 0) text += fmt::format(", {:.2f} times less over the training", stage.volume_ratio());
    return text + '\n';
}

Json warm_up_json(const sim::WarmUp& stage) {
    const bool known = stage.share > 0;
    return {{"steps", stage.steps},
            {"share", known ? Json(stage.share) : Json()},
            {"step_time_s", stage.step_time_s},
            {"mean_step_time_s", known ? Json(stage.mean_step_time_s()) : Json()},
            {"bytes_per_gpu", stage.bytes},
            {"later_bytes_per_gpu", stage.later_bytes},
            {"volume_ratio", known ? Json(stage.volume_ratio()) : Json()}};
}

std::string synchrony_text(const Outcome& window, double token_budget, std::string_view unit) {
    std::string text = fmt::format("{}: {} {}/s over {} steps of {} replicas in {}", mode_text(window.job.options),
                                   format_count(window.tokens_per_s()), unit, format_grouped(window.updates),
                                   window.workers.size(), format_seconds(window.seconds));
    if (token_budget > 0)
        text += fmt::format(", {} {} in {}", format_count(token_budget), unit,
                            format_seconds(token_budget / window.tokens_per_s()));
    text += '\n' + replicas_table(window);
    text += fmt::format("staleness   mean {:.2f} steps, at most {} ({})", window.mean_staleness(), window.most_stale(),
                        distribution(window));
    if (window.job.options.serves())
        text += fmt::format("; {:.2f} updates missed; fullest link {} busy; {} a server", window.missed,
                            percent(window.link_busy), format_bytes(window.job.server_bytes));
    if (window.job.extra_bytes > 0)
        text += fmt::format("; {} more a GPU for anchor and outer momentum", format_bytes(window.job.extra_bytes));
    return text + '\n';
}

Json synchrony_json(const Outcome& window, double token_budget) {
    Json replicas = Json::array();
    for (const WorkerTime& worker : window.workers)
        replicas.push_back({{"steps", worker.steps},
                            {"computing_s", worker.computing},
                            {"exchanging_s", worker.exchanging},
                            {"waiting_s", worker.waiting}});
    return {{"mode", std::string(name(window.job.options.mode))},
            {"seconds", window.seconds},
            {"updates", window.updates},
            {"tokens_per_s", window.tokens_per_s()},
            {"training_time_s", token_budget > 0 ? Json(token_budget / window.tokens_per_s()) : Json()},
            {"mean_staleness", window.mean_staleness()},
            {"staleness", window.staleness},
            {"missed_updates", window.missed},
            {"link_busy", window.link_busy},
            {"server_bytes", window.job.server_bytes},
            {"extra_bytes_per_gpu", window.job.extra_bytes},
            {"replicas", std::move(replicas)}};
}

}  // namespace orrery::report
