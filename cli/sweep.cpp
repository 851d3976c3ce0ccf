// orrery sweep: every combination of some keys' values, simulated.
#include "report/sweep.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "cli/command.hpp"
#include "cli/planning_options.hpp"
#include "planning/sweep/sweep.hpp"

namespace orrery::cli {

namespace {

struct Options {
    ScenarioOptions scenario;
    DisplayOptions display;
    PlanningOptions planning;
    std::vector<std::string> vary;
    std::size_t top = 20;
};

constexpr const char* footer =
    R"(VALUES stand between commas; a range has its step: a..bxF multiplies, a..b+S adds. Any key of a scenario can be
varied, as with --set; gpus is the size of the cluster. Where sizes of the plan or the cluster are varied, data ranks
fill it, unless --set or --vary says how many there are.
A sweep that was killed goes on with the same command, and ends with the same bytes.
Examples:
  orrery sweep scenarios/gpt-1.7b-dgx-a100.json --vary strategy.tensor=1,2,4,8 --vary training.micro_batch_size=1..8x2
  orrery sweep scenarios/gpt3-175b-superpod-a100.json --vary gpus=64..1024x2
  orrery sweep scenarios/gpt-neox-20b-ethernet.json --vary 'cluster.nic_rate=100..400 Gb/s x2' --csv rates.csv)";

void sweep(const Options& options) {
    const PlanningOptions& planning = options.planning;
    const std::filesystem::path log = planning.log_file();
    require_distinct({planning.csv, planning.json, log.string()}, {options.scenario.file});
    std::vector<planning::Axis> axes;
    for (const std::string& text : options.vary) axes.push_back(planning::parse_axis(text));
    const planning::Grid grid(options.scenario.file, options.scenario.overrides(), std::move(axes));
    Output csv(planning.csv), json(planning.json);
    planning::Journal journal(log, {"sweep", grid.fingerprint(), grid.points()}, planning.start());
    calibrate::ProfileStore profiles;
    planning::Sweep result;
    {
        Progress progress("sweep", grid.points(), options.display.quiet);
        const auto told = tell_when_interrupted(log);
        result = planning::sweep(grid, profiles, journal, planning.cores(), [&] { progress.advance(); });
    }
    csv.write(csv.wanted() ? report::sweep_csv(grid, result) : "");
    json.write(json.wanted() ? report::sweep_json(grid, result) : "");
    if (!planning.to_stdout() && !options.display.quiet)
        print(report::sweep_text(grid, result, options.top, options.display.style()));
    csv.finish();
    json.finish();
    journal.remove();
}

}  // namespace

void add_sweep(CLI::App& program, Exit&) {
    CLI::App* const command = program.add_subcommand("sweep", "simulate every combination of some keys' values");
    const auto options = std::make_shared<Options>();
    options->scenario.add_to(*command);
    command->add_option("--vary", options->vary, "a key and its values; may be repeated")
        ->type_name("KEY=VALUES")
        ->required()
        ->allow_extra_args(false);
    options->planning.add_to(*command, "every point");
    command->add_option("--top", options->top, "print so many of the best points")
        ->check(CLI::Range(std::size_t{1}, std::size_t{planning::most_points}))
        ->capture_default_str();
    options->display.add_to(*command);
    command->footer(footer);
    command->callback([options] { options->scenario.blamed([&] { return sweep(*options); }); });
}

}  // namespace orrery::cli
