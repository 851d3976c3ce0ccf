// orrery sweep: every combination of some keys' values, simulated.
#include "planning/sweep/sweep.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "base/text.hpp"
#include "cli/command.hpp"
#include "cli/sweep_output.hpp"

namespace orrery::cli {

namespace {

struct SweepOptions {
    ScenarioOptions scenario;
    DisplayOptions display;
    PlanningOptions planning;
    std::vector<std::string> vary;
    std::string shard;
    std::size_t top = default_top;
};

constexpr const char* sweep_footer =
    R"(VALUES stand between commas; a range has its step: a..bxF multiplies, a..b+S adds. Any key of a scenario can be
varied, as with --set; gpus is the size of the cluster. Where sizes of the plan or the cluster are varied, data ranks
fill it, unless --set or --vary says how many there are.
A sweep that was killed goes on with the same command, and ends with the same bytes.
Examples:
  orrery sweep scenarios/gpt-1.7b-dgx-a100.json --vary strategy.tensor=1,2,4,8 --vary training.micro_batch_size=1..8x2
  orrery sweep scenarios/gpt3-175b-superpod-a100.json --vary gpus=64..1024x2
  orrery sweep scenarios/gpt-neox-20b-ethernet.json --vary 'cluster.nic_rate=100..400 Gb/s x2' --csv rates.csv
  orrery sweep scenarios/gpt-1.7b-dgx-a100.json --vary gpus=8..64x2 --format csv | cut -d, -f1-4
  orrery sweep scenarios/gpt-1.7b-dgx-a100.json --vary gpus=8..64x2 --shard 1/2 --json part-1.json)";

std::string command(const SweepOptions& options) {
    std::string text = options.scenario.command("sweep");
    for (const std::string& each : options.vary) text += " --vary " + shell_word(each);
    return text + " --html " + shell_word(options.planning.outputs.html);
}

void whole(const SweepOptions& options, const planning::Grid& grid, Ranks& ranks) {
    const PlanningOptions& planning = options.planning;
    const std::filesystem::path log = planning.log_file();
    PlanOutputs outputs(planning.outputs);
    planning::Journal journal(log, {"sweep", grid.fingerprint(), grid.points()}, planning.start());
    calibrate::ProfileStore profiles;
    planning::Sweep result;
    {
        Progress progress("sweep", grid.points(), options.display.quiet);
        const auto told = tell_when_interrupted(log);
        const planning::Crew crew = ranks.crew(planning.cores(ranks));
        result = planning::sweep(grid, profiles, journal, crew, [&] { progress.advance(); });
    }
    outputs.finish(sweep_forms(grid, result, options.top, options.display, command(options)), options.display);
    journal.remove();
}

/// One part; its answers become a file that `orrery merge` reads.
void part(const SweepOptions& options, const planning::Grid& grid, Ranks& ranks) {
    const PlanningOptions& planning = options.planning;
    const planning::Shard shard = planning::parse_shard(options.shard);
    if (!planning.outputs.csv.empty() || !planning.outputs.html.empty() || planning.outputs.json.empty() ||
        planning.outputs.format.for_programs())
        throw Error("--shard " + options.shard, "", "a part of a sweep is a JSON file",
                    "name it with --json FILE; `orrery merge` makes CSV and HTML of all parts");
    const std::filesystem::path log = planning.log_file();
    Output json(planning.outputs.json);
    const std::string sweep = grid.fingerprint();
    planning::Journal journal(log, {"sweep", sweep + ' ' + shard.text(), grid.points()}, planning.start());
    calibrate::ProfileStore profiles;
    std::vector<planning::Answer> answers;
    {
        const std::uint64_t points = shard.points(grid.points());
        Progress progress("sweep", points, options.display.quiet);
        const auto told = tell_when_interrupted(log);
        const planning::Crew crew = ranks.crew(planning.cores(ranks));
        answers = planning::answers(grid, shard, profiles, journal, crew, [&] { progress.advance(); });
    }
    json.write(planning::shard_json(grid, shard, sweep, answers));
    json.finish();
    journal.remove();
    if (!json.to_stdout() && !options.display.quiet)
        print(fmt::format("{}: {} of {} points, part {}; `orrery merge` puts all parts together\n", grid.name(),
                          answers.size(), grid.points(), shard.text()));
}

/// For the rank that leads.
void serve(const SweepOptions& options, const planning::Grid& grid, Ranks& ranks) {
    calibrate::ProfileStore profiles;
    ranks.serve(planning::simulate_points(grid, profiles), options.planning.cores(ranks));
}

void sweep(const SweepOptions& options, Ranks& ranks) {
    options.planning.require_distinct_files(options.scenario.file);
    const planning::Grid grid(options.scenario, options.vary);
    if (!ranks.lead())
        serve(options, grid, ranks);
    else if (options.shard.empty())
        whole(options, grid, ranks);
    else
        part(options, grid, ranks);
}

}  // namespace

void add_sweep(CLI::App& program, Exit&) { add_sweep(program, alone()); }

void add_sweep(CLI::App& program, Ranks& ranks) {
    CLI::App* const command = program.add_subcommand("sweep", "simulate every combination of some keys' values");
    const auto options = std::make_shared<SweepOptions>();
    options->scenario.add_to(*command);
    command->add_option("--vary", options->vary, "a key and its values; may be repeated")
        ->type_name("KEY=VALUES")
        ->required()
        ->allow_extra_args(false);
    options->planning.add_to(*command, "every point");
    add_top(*command, options->top);
    command->add_option("--shard", options->shard, "simulate one part of many, for `orrery merge`; it goes to --json")
        ->type_name("N/PARTS");
    options->display.add_to(*command);
    command->footer(sweep_footer);
    command->callback([options, &ranks] { options->scenario.blamed([&] { return sweep(*options, ranks); }); });
}

}  // namespace orrery::cli
