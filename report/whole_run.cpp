#include "report/whole_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/table.hpp"
#include "base/units.hpp"
#include "sim/mean_power.hpp"

namespace orrery::report {

namespace {

using reliability::Bill;
using reliability::Forecast;
using reliability::Times;
using reliability::TrainingRun;
using Json = nlohmann::ordered_json;

struct Cause {
    std::string_view title, key;
    double Times::*seconds;
};
constexpr std::array causes{
    Cause{"steps", "steps", &Times::work},
    Cause{"steps waiting for input", "input", &Times::input},
    Cause{"steps waiting for checkpoints", "checkpoints", &Times::checkpoints},
    Cause{"work done again", "lost_work", &Times::lost},
    Cause{"failures being found", "detection", &Times::detection},
    Cause{"restarts", "restart", &Times::restart},
    Cause{"waiting for nodes", "waiting", &Times::waiting},
    Cause{"fewer replicas", "shrunk", &Times::shrunk},
};

std::string failures_line(const Forecast& all) {
    const TrainingRun& run = all.run;
    if (run.failures_per_s == 0) return "failures    none\n";
    const std::string spares = run.spare_nodes == reliability::Failures::as_needed
                                   ? ""
                                   : fmt::format(", {} spare node{}, repaired in {}", run.spare_nodes,
                                                 run.spare_nodes == 1 ? "" : "s", format_seconds(run.repair));
    return fmt::format("failures    {:.1f}, one every {}, {} to find and {} to start again{}\n", all.failures,
                       format_seconds(run.mtbf()), format_seconds(run.detection),
                       format_seconds(run.restart + run.read), spares);
}

std::string checkpoints_line(const TrainingRun& run) {
    const std::string often = std::isfinite(run.interval)
                                  ? fmt::format("every {}{}", format_seconds(run.paced_interval()),
                                                run.optimal_interval ? " (the optimum)" : "")
                                  : "at the end only";
    return fmt::format("checkpoints {} {}: the steps wait {}, {} to write, {} to read\n",
                       format_bytes(run.checkpoint_bytes), often, format_seconds(run.stall), format_seconds(run.write),
                       format_seconds(run.read));
}

std::string energy_line(const Bill& bill) {
    std::string text = fmt::format("GPU-hours   {}", format_count(bill.gpu_hours));
    if (bill.mwh.high > 0)
        text += fmt::format("; {} (GPUs alone, to whole nodes at their maximum; PUE {}), {} of CO2",
                            range_text(bill.mwh, "MWh"), hardware::usual_pue, range_text(bill.co2_tonnes, "t"));
    return text + '\n';
}

}  // namespace

std::string range_text(const reliability::Range& range, std::string_view unit) {
    const std::string low = format_count(range.low), high = format_count(range.high);
    return low == high ? fmt::format("{} {}", low, unit) : fmt::format("{} to {} {}", low, high, unit);
}

Bill whole_run_bill(const sim::Step& p, const Forecast& all, const reliability::Costs& costs) {
    const double gpus = reliability::held_gpus(p.gpus, all.run.nodes, all.run.spare_nodes, all.job.idle_gpus);
    return reliability::bill(costs, sim::mean_power(p), gpus, all.seconds());
}

std::string whole_run_line(const Forecast& all) {
    const std::string range = all.run.failures_per_s > 0
                                  ? fmt::format(" ({} to {} in 80% of {} runs)", format_seconds(all.seconds_p10),
                                                format_seconds(all.seconds_p90), all.runs)
                                  : "";
    return fmt::format("whole run {}{}   goodput {:.1f}%", format_seconds(all.seconds()), range, 100 * all.goodput());
}

std::string whole_run_table(const sim::Step& p, const Forecast& all) {
    Table table({{"whole run", Table::Align::left}, {"time"}, {"share"}});
    const double total = all.seconds();
    for (const Cause& cause : causes) {
        const double seconds = all.mean.*cause.seconds;
        if (seconds < 5e-4 * total) continue;
        table.row({std::string(cause.title), format_seconds(seconds), fmt::format("{:.1f}%", 100 * seconds / total)});
    }
    table.rule();
    table.row({"wall clock", format_seconds(total), ""});
    table.row({"in closed form", format_seconds(all.closed_form_s), ""});
    return table.to_text() + failures_line(all) + checkpoints_line(all.run) + energy_line(whole_run_bill(p, all));
}

Json known_range(const reliability::Range& range) { return range.high > 0 ? Json{range.low, range.high} : Json(); }

Json whole_run_json(const sim::Step& p, const Forecast& all) {
    const Bill bill = whole_run_bill(p, all);
    const TrainingRun& run = all.run;
    Json by_cause = Json::object();
    for (const Cause& cause : causes) by_cause[std::string(cause.key)] = all.mean.*cause.seconds;
    return {{"wall_clock_s", all.seconds()},
            {"wall_clock_p10_s", all.seconds_p10},
            {"wall_clock_p90_s", all.seconds_p90},
            {"closed_form_s", all.closed_form_s},
            {"runs", all.runs},
            {"goodput", all.goodput()},
            {"goodput_p10", run.work / all.seconds_p90},
            {"goodput_p90", run.work / all.seconds_p10},
            {"time_s", std::move(by_cause)},
            {"failures", all.failures},
            {"gpu_hours", bill.gpu_hours},
            {"mwh", known_range(bill.mwh)},
            {"co2_tonnes", known_range(bill.co2_tonnes)},
            {"mtbf_s", run.failures_per_s > 0 ? Json(run.mtbf()) : Json()},
            {"checkpoint",
             {{"bytes", run.checkpoint_bytes},
              {"interval_s", std::isfinite(run.interval) ? Json(run.paced_interval()) : Json()},
              {"optimal_interval", run.optimal_interval},
              {"stall_s", run.stall},
              {"write_s", run.write},
              {"read_s", run.read}}}};
}

}  // namespace orrery::report
