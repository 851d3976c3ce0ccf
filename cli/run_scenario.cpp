// orrery run: execute a scenario for real and report it as a simulation is reported.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/command.hpp"
#include "cli/execute.hpp"
#include "cli/format.hpp"
#include "cli/number.hpp"
#include "cli/options.hpp"
#include "cli/trace_output.hpp"
#include "report/json.hpp"
#include "report/lone_rank.hpp"
#include "report/measured.hpp"
#include "report/terminal.hpp"
#include "run/measure.hpp"
#include "run/plan_file.hpp"
#include "run/support.hpp"
#include "sim/predict.hpp"

namespace orrery::cli {

namespace {

struct RunScenarioOptions {
    ScenarioOptions scenario;
    DisplayOptions display;
    FormatOption format;
    Execution execution;
    std::string json, trace, plan, measured;
    std::optional<std::uint32_t> warmup;
    bool undisturbed = false, elide = false;
};

constexpr const char* run_scenario_footer = R"(Examples:
  orrery run scenarios/gpt-tiny-cpu.json
  orrery run scenarios/gpt-tiny-cpu.json --set strategy.data=2 --steps 50 --json measured.json
  orrery run scenarios/gpt-tiny-cpu.json --set training.precision=bf16            # fp32 master weights
  orrery run scenarios/gpt-tiny-cpu.json --data README.md --learning-rate 0.003
  mpirun -n 2 orrery run scenarios/gpt-tiny-cpu.json --set strategy.tensor=2      # as the ranks of a job
  orrery run scenarios/gpt-tiny-cpu.json --plan plan.json                         # for `orrery-device run plan.json`
  orrery run scenarios/gpt-tiny-cpu.json --measured there.json                    # what its --out wrote, reported here
  orrery run big.json --set training.precision=tf32 --device cuda --only-rank 17 --elide-communication
Trains for real: fp32, bf16 and fp16 on CPUs, ranks over MPI; tf32 too on GPUs, ranks over NCCL. `orrery compare` holds
the result against a prediction.)";

/// A rank is run alone by name only, so that nobody takes its step for the plan's.
void check_lone_rank(const RunScenarioOptions& options, const scenarios::Scenario& scenario) {
    const auto& rank = options.execution.settings.only_rank;
    if (rank.has_value() != options.elide)
        throw Error("--only-rank and --elide-communication go together: one rank has nobody to communicate with",
                    rank ? "add --elide-communication" : "name a rank with --only-rank");
    if (!rank) return;
    if (*rank >= scenario.plan.ranks())
        throw Error(fmt::format("--only-rank {}: the plan has {} ranks", *rank, scenario.plan.ranks()),
                    fmt::format("a rank from 0 to {}", scenario.plan.ranks() - 1));
    if (!options.trace.empty() || options.execution.emulate || !options.execution.hosts.empty())
        throw Error("--only-rank takes no --trace, --emulate-compute or --hosts", "leave them out");
}

Executed executed_here_or_elsewhere(const RunScenarioOptions& options, const scenarios::Scenario& scenario) {
    if (options.measured.empty()) return execute(scenario, options.execution);
    Executed elsewhere{run::load_measured(options.measured)};
    if (elsewhere.measured.alone != options.elide)
        throw Error(options.measured, "", elsewhere.measured.alone ? "is of one rank alone" : "is of all ranks",
                    elsewhere.measured.alone ? "add --only-rank and --elide-communication as for its --plan"
                                             : "leave out --only-rank and --elide-communication");
    run::require_plan(elsewhere.measured, run::plan_text(scenario.plan), scenario.seed, options.measured);
    return elsewhere;
}

Exit run_lone_rank(const RunScenarioOptions& options, const scenarios::Scenario& scenario) {
    const std::vector<double> kernel_seconds =  // before the run: a prediction
        sim::kernel_seconds(scenario, *options.execution.settings.only_rank);
    const Executed executed = executed_here_or_elsewhere(options, scenario);
    const report::LoneRank rank =
        report::lone_rank(scenario, executed.measured, kernel_seconds,
                          options.undisturbed ? report::Clock::undisturbed : report::Clock::wall);
    Output json(options.json);
    const auto document = [&] { return report::to_json(rank, executed.measured).dump(2) + '\n'; };
    if (json.wanted()) json.write(document());
    options.format.print(
        {.text = [&] { return report::to_text(rank, scenario, executed.measured, options.display.style()); },
         .csv = [&] { return report::Records::of(report::to_json(rank, executed.measured).at("kernels")).csv(); },
         .json = document},
        json.to_stdout() || options.display.quiet);
    json.finish();
    return Exit::done;
}

/// Some steps are measured.
void take_warmup(RunScenarioOptions& options) {
    run::RunSettings& settings = options.execution.settings;
    if (options.warmup && *options.warmup >= settings.steps)
        throw Error(fmt::format("--warmup {} leaves none of {} steps to measure", *options.warmup, settings.steps),
                    fmt::format("at most {}, or more --steps", settings.steps - 1));
    settings.warmup = options.warmup.value_or(std::min(settings.warmup, settings.steps - 1));
}

Exit run_scenario(RunScenarioOptions& options) {
    require_distinct(
        {options.json, options.trace, options.plan, options.format.path()},
        {options.scenario.file, options.execution.hosts, options.execution.settings.data, options.measured});
    scenarios::Scenario scenario = options.scenario.load();
    options.execution.settings.seed = scenario.seed;
    take_warmup(options);
    scenario.plan = run::in_one_window({scenario.name, scenario.plan, options.execution.settings}).plan;
    check_lone_rank(options, scenario);
    if (options.execution.settings.only_rank && options.plan.empty()) return run_lone_rank(options, scenario);
    Output json(options.json), trace(options.trace);
    if (!options.plan.empty()) {
        run::require_executable(scenario.plan);
        Output plan(options.plan);
        if (options.execution.emulate) options.execution.settings.kernel_seconds = sim::kernel_seconds(scenario);
        plan.write(run::to_json({scenario.name, scenario.plan, options.execution.settings}));
        plan.finish();
        return Exit::done;
    }
    const Executed executed = executed_here_or_elsewhere(options, scenario);
    if (executed.joined) return Exit::done;
    const report::MeasuredStep step = report::measured_step(
        scenario, executed.measured, options.undisturbed ? report::Clock::undisturbed : report::Clock::wall);
    const auto write_json = [&](const report::Sink& to) {
        report::json_with_operations(scenario, step, {{"measured", report::measured_facts(executed.measured)}}, to);
    };
    if (json.wanted()) write_json([&](std::string_view text) { json.write(text); });
    write_trace(trace, options.trace, scenario, step, options.display.quiet);
    const auto table = [&] {
        return report::terminal(scenario, step, options.display.style()) +
               report::measured_lines(scenario, executed.measured);
    };
    const auto document = [&] {
        std::string text;
        write_json([&](std::string_view piece) { text += piece; });
        return text;
    };
    options.format.print({.text = table, .csv = [&] { return report::stages(scenario, step).csv(); }, .json = document},
                         json.to_stdout() || trace.to_stdout() || options.display.quiet);
    finish_all({&json, &trace});
    return Exit::done;
}

/// As orrery-device takes it, so that a slip is found before ranks are started; what is wrong, or "".
std::string is_device(const std::string& name) {
    const std::size_t colon = name.find(':');
    const std::string kind = name.substr(0, colon), number = colon == name.npos ? "" : name.substr(colon + 1);
    const bool digits = std::ranges::all_of(number, [](unsigned char c) { return std::isdigit(c) != 0; });
    const bool none = kind == "cpu" && number.find_first_not_of('0') == number.npos;
    if ((kind == "cpu" || kind == "cuda") && (colon == name.npos || (!number.empty() && digits && !none))) return "";
    return "\"" + name + "\" is no device: cpu, cpu:4 (threads), cuda or cuda:1";
}

}  // namespace

void add_run(CLI::App& program, Exit& exit) {
    CLI::App* const command =
        program.add_subcommand("run", "execute a scenario's training steps for real, time every operation and report");
    const auto options = std::make_shared<RunScenarioOptions>();
    Execution& execution = options->execution;
    options->scenario.add_to(*command, {"--data"});
    command->add_option("--steps", execution.settings.steps, "steps to train")
        ->check(CLI::Range(2U, 1000000U))
        ->capture_default_str();
    command->add_option(
        "--warmup", options->warmup,
        fmt::format("of these steps, those that are not measured (default: {})", run::RunSettings{}.warmup));
    command->add_option("--device", execution.device, "cpu, cpu:4 (threads a rank), cuda")
        ->check(CLI::Validator(is_device, "", "device"))
        ->capture_default_str();
    command
        ->add_option("--communication", execution.communication,
                     "auto (MPI on CPUs, NCCL on GPUs) or tcp (CPU ranks without MPI)")
        ->check(CLI::IsMember({"auto", "tcp"}))
        ->capture_default_str();
    command->add_flag("--emulate-compute", execution.emulate,
                      "kernels sleep for the time that the scenario's profile predicts instead of computing; "
                      "communication is real (CPU ranks)");
    command->add_option("--only-rank", execution.settings.only_rank,
                        "run this rank of the plan alone, on one device: what it computes is timed and held against "
                        "the profile");
    command->add_flag("--elide-communication", options->elide,
                      "with --only-rank: leave out what the rank would send and receive");
    command->add_option("--ranks", execution.ranks, "processes (default, and the only right number: the plan's)");
    command->add_option("--hosts", execution.hosts, "Open MPI host file: one host a line, as in: node1 slots=2")
        ->type_name("FILE");
    command
        ->add_option("--data", execution.settings.data, "train on the bytes of this text (default: synthetic tokens)")
        ->type_name("FILE");
    command->add_option("--learning-rate", execution.settings.adam.rate, "of Adam")
        ->check(number_between(0, 1e300))
        ->capture_default_str();
    command
        ->add_option(
            "--folder", execution.keep,
            "where ranks leave word of what they do, kept when a run fails; files that are there are never touched")
        ->type_name("FOLDER");
    command
        ->add_option("--stall", execution.stall,
                     "seconds in which no rank begins an operation that end a run (default: ten times the longest "
                     "step, at least 8)")
        ->check(number_between(1e-3, 1e9));
    command->add_flag("--undisturbed", options->undisturbed,
                      "report the time that the operations took of the device, along the program's longest path, "
                      "instead of the wall clock's: for a busy machine");
    command->add_option("--json", options->json, "write the report with every operation's times as JSON; - for stdout")
        ->type_name("FILE");
    command->add_option("--trace", options->trace, "write the timeline as a Chrome trace; .gz compresses it")
        ->type_name("FILE");
    command
        ->add_option("--plan", options->plan,
                     "write the plan that orrery-device executes, for a machine that has it alone, and run nothing")
        ->type_name("FILE");
    command
        ->add_option("--measured", options->measured,
                     "report what `orrery-device run --out` measured of this scenario's --plan, and run nothing")
        ->type_name("FILE")
        ->excludes("--plan")
        ->excludes("--hosts")
        ->excludes("--emulate-compute");
    options->format.add_to(*command, "a line a stage; with --only-rank a line a kernel");
    options->display.add_to(*command);
    command->footer(run_scenario_footer);
    command->callback([options, &exit] { exit = options->scenario.blamed([&] { return run_scenario(*options); }); });
}

}  // namespace orrery::cli
