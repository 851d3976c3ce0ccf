// orrery simulate: predict one scenario.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>

#include "base/progress.hpp"
#include "base/terminal.hpp"
#include "base/units.hpp"
#include "cli/command.hpp"
#include "cli/format.hpp"
#include "cli/options.hpp"
#include "cli/trace_output.hpp"
#include "report/html/step_page.hpp"
#include "report/json.hpp"
#include "report/step_svg.hpp"
#include "report/terminal.hpp"
#include "sim/agreement.hpp"
#include "sim/predict.hpp"
#include "sim/simgrid.hpp"
#include "strategies/build.hpp"

namespace orrery::cli {

namespace {

struct SimulateOptions {
    ScenarioOptions scenario;
    DisplayOptions display;
    FormatOption format;
    std::string json, trace, html, svg;
    std::vector<std::uint32_t> trace_ranks;
    bool check = false, operations = false;
    std::string fold = "auto", engine = "fast";
};

sim::EngineKind engine_of(const SimulateOptions& options) {
    return options.engine == "simgrid" ? sim::EngineKind::simgrid : sim::EngineKind::fast_in_simgrid;
}

constexpr const char* simulate_footer = R"(Examples:
  orrery simulate scenarios/gpt3-175b-superpod-a100.json
  orrery simulate gpt3-175b-superpod-a100                 # a shipped one by its name (orrery list scenarios)
  orrery simulate scenarios/gpt3-175b-superpod-a100.json --set strategy.recompute=selective
  orrery simulate --model llama3-70b --cluster superpod-h100 --gpus 256 --tensor 8 --pipeline 4 --global-batch 512 \
      --seq-length 8192 --precision bf16
  orrery simulate scenarios/gpt3-175b-superpod-a100.json --json - | jq .mfu
  orrery simulate scenarios/gpt3-175b-superpod-a100.json --format csv            # a line a stage
  orrery simulate scenarios/gpt3-175b-superpod-a100.json --trace step.json.gz    # open it in ui.perfetto.dev
  orrery simulate scenarios/gpt3-175b-superpod-a100.json --trace two.json --trace-ranks 0,1023
  orrery simulate scenarios/gpt3-175b-superpod-a100.json --html report.html      # to look at, and to pass on
  orrery simulate scenarios/gpt3-175b-superpod-a100.json --global-batch 256 --virtual-pipeline 1 \
      --set strategy.schedule=1f1b --svg pipeline.svg    # a drawing for documents
  orrery simulate scenarios/gpt3-175b-superpod-a100.json --fold verify           # exact? simulate all 1,024 GPUs
  orrery simulate scenarios/mistral-7b-beside-gpt-1.7b.json                      # two jobs and storage traffic
  orrery simulate scenarios/gpt3-175b-superpod-a100.json --check --quiet && echo it fits)";

/// Runs the step both ways where the options say so; prints what came of it. Whether all agree.
bool verify(const scenarios::Scenario& scenario, const SimulateOptions& options, calibrate::ProfileStore& profiles,
            bool print_it) {
    const bool fold = options.fold != "off";
    std::vector<sim::Agreement> checks;
    {
        Progress progress("verify", 0, options.display.quiet);
        const auto show = [&](std::size_t done, std::size_t total) { progress.show(done, total); };
        if (options.fold == "verify")
            checks.push_back(sim::check_folding(scenario, profiles, engine_of(options), show));
        if (options.engine == "verify") checks.push_back(sim::check_engine(scenario, profiles, fold, show));
    }
    bool agree = true;
    for (const sim::Agreement& check : checks) {
        if (print_it || !check.agrees()) (print_it ? print : say)(check.text() + "\n");
        agree = agree && check.agrees();
    }
    return agree;
}

/// Says before the work how large a large file will be; throws Error for one that nobody could read.
void announce_operations(const scenarios::Scenario& scenario, const SimulateOptions& options) {
    constexpr std::uint64_t large = std::uint64_t{64} << 20U;
    const strategies::StepProgram step = strategies::build(scenario.plan);
    const std::uint64_t bytes = report::operations_bytes(step);
    if (bytes > report::most_operations_bytes)
        throw Error(
            fmt::format("--operations: the times of every operation of {} ranks are about {} of JSON, more than "
                        "the {} that can be read again",
                        step.role.size(), format_bytes(static_cast<double>(bytes)),
                        format_bytes(static_cast<double>(report::most_operations_bytes))),
            "leave --operations out, take --trace, which shows a rank of each stage, or a smaller plan: --set "
            "strategy.data=1 and as small a training.global_batch_size");
    if (bytes > large && !options.display.quiet)
        say(fmt::format("orrery: {} will hold about {}\n", options.json, format_bytes(static_cast<double>(bytes))));
}

/// Ranks of the scenario, each once, and not more than a timeline has room for.
void require_ranks(const SimulateOptions& options, std::uint32_t ranks) {
    constexpr std::size_t most = 64;
    if (options.trace_ranks.empty()) return;
    const std::set<std::uint32_t> once(options.trace_ranks.begin(), options.trace_ranks.end());
    if (options.trace.empty()) throw Error("--trace-ranks: there is no trace", "--trace FILE");
    if (once.size() < options.trace_ranks.size())
        throw Error("--trace-ranks: a rank stands there twice", "once is enough");
    if (once.size() > most)
        throw Error(fmt::format("--trace-ranks: {} ranks", once.size()), fmt::format("{} at most", most));
    if (*once.rbegin() >= ranks)
        throw Error(fmt::format("--trace-ranks: there is no rank {}", *once.rbegin()),
                    fmt::format("the scenario has ranks 0 to {}", ranks - 1));
}

/// Shows how far it has come to whoever waits.
sim::Prediction predict(const scenarios::Scenario& scenario, calibrate::ProfileStore& profiles, sim::Options how,
                        bool quiet) {
    Progress progress("simulate", 0, quiet);
    how.progress = [&](std::size_t done, std::size_t total) { progress.show(done, total); };
    sim::Session session;  // advice takes as much memory again as the step has freed
    how.session = &session;
    return sim::predict(scenario, profiles, how);
}

Exit simulate(const SimulateOptions& options) {
    const sim::SimgridAhead simgrid;
    require_distinct({options.json, options.trace, options.html, options.svg, options.format.path()},
                     {options.scenario.file});
    if (options.operations && options.json.empty()) throw Error("--operations: there is no JSON", "--json FILE");
    const scenarios::Scenario scenario = options.scenario.load();
    require_ranks(options, scenario.gpus);
    Output json(options.json), trace(options.trace), html(options.html), svg(options.svg);
    const bool every = options.operations && json.wanted();
    if (every) announce_operations(scenario, options);
    calibrate::ProfileStore profiles;
    const sim::Prediction prediction = options.scenario.blamed([&] {
        return predict(scenario, profiles,
                       {.keep_trace = trace.wanted() || html.wanted() || svg.wanted() || every,
                        .unroll = every,
                        .fold = options.fold != "off" && !every && options.trace_ranks.empty(),
                        .engine = engine_of(options)},
                       options.display.quiet);
    });
    if (json.wanted() && !every) json.write(report::json(scenario, prediction));
    if (every)
        report::json_with_operations(scenario, prediction, nlohmann::ordered_json::object(),
                                     [&](std::string_view text) { json.write(text); });
    write_trace(trace, options.trace, scenario, prediction, options.display.quiet, options.trace_ranks);
    if (html.wanted())
        html.write(report::step_page(scenario, prediction, profiles,
                                     options.scenario.command("simulate") + " --html " + options.html));
    if (svg.wanted()) svg.write(report::step_svg(scenario, prediction));
    const bool free = !json.to_stdout() && !trace.to_stdout() && !html.to_stdout() && !svg.to_stdout();
    options.format.print({.text = [&] { return report::terminal(scenario, prediction, options.display.style()); },
                          .csv = [&] { return report::stages(scenario, prediction).csv(); },
                          .json = [&] { return report::json(scenario, prediction); }},
                         !free || options.display.quiet);
    finish_all({&json, &trace, &html, &svg});
    const bool agree =
        verify(scenario, options, profiles, free && !options.display.quiet && !options.format.for_programs());
    return (options.check && !prediction.fits) || !agree ? Exit::outside_tolerance : Exit::done;
}

}  // namespace

void add_simulate(CLI::App& program, Exit& exit) {
    CLI::App* const command = program.add_subcommand("simulate", "predict a scenario's training step and report it");
    const auto options = std::make_shared<SimulateOptions>();
    options->scenario.add_to(*command);
    command
        ->add_option("--json", options->json,
                     "write the report as JSON (report/prediction.schema.json); - for "
                     "standard output, on which nothing else is then printed")
        ->type_name("FILE");
    command
        ->add_option("--trace", options->trace,
                     "write the timeline as a Chrome trace; compressed when FILE ends in "
                     ".gz")
        ->type_name("FILE");
    command
        ->add_option("--trace-ranks", options->trace_ranks,
                     "show these ranks in it, as in 0,8,1023, and not the first of each stage; simulates every GPU")
        ->delimiter(',')
        ->type_name("RANK,...");
    command
        ->add_option("--html", options->html,
                     "write the report as one HTML file, which any browser opens; it needs no network")
        ->type_name("FILE");
    command->add_option("--svg", options->svg, "draw the timeline: a row for each pipeline stage")->type_name("FILE");
    command->add_flag("--operations", options->operations,
                      "the JSON holds the times of every operation of every rank, for `orrery compare`");
    command->add_flag("--check", options->check, "exit with 1 when the scenario does not fit into memory");
    command
        ->add_option("--fold", options->fold,
                     "auto: simulate one of all GPUs that provably behave alike; off: every GPU; verify: both, and "
                     "exit with 1 when they disagree")
        ->check(CLI::IsMember({"auto", "off", "verify"}))
        ->type_name("HOW");
    command
        ->add_option("--engine", options->engine,
                     "fast: our model of links; simgrid: SimGrid's own network, slow; verify: both, and exit with 1 "
                     "when they disagree")
        ->check(CLI::IsMember({"fast", "simgrid", "verify"}))
        ->type_name("WHICH");
    options->format.add_to(*command, "a line a stage");
    options->display.add_to(*command);
    command->footer(simulate_footer);
    command->callback([options, &exit] { exit = options->scenario.blamed([&] { return simulate(*options); }); });
}

}  // namespace orrery::cli
