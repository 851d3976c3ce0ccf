// orrery simulate: predict one scenario.
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/command.hpp"
#include "cli/options.hpp"
#include "report/chrome_trace.hpp"
#include "report/json.hpp"
#include "report/operations.hpp"
#include "report/terminal.hpp"
#include "sim/predict.hpp"

namespace orrery::cli {

namespace {

struct Options {
    ScenarioOptions scenario;
    DisplayOptions display;
    std::string json, trace;
    bool check = false, operations = false;
};

constexpr const char* footer = R"(Examples:
  orrery simulate scenarios/gpt3-175b-superpod-a100.json
  orrery simulate scenarios/gpt3-175b-superpod-a100.json --set strategy.recompute=selective
  orrery simulate scenarios/gpt3-175b-superpod-a100.json --json - | jq .mfu
  orrery simulate scenarios/gpt3-175b-superpod-a100.json --trace step.json.gz    # open it in ui.perfetto.dev
  orrery simulate scenarios/gpt3-175b-superpod-a100.json --check --quiet && echo it fits)";

Exit simulate(const Options& options) {
    require_distinct({options.json, options.trace}, {options.scenario.file});
    const scenarios::Scenario scenario = options.scenario.load();
    Output json(options.json), trace(options.trace);
    const bool every = options.operations && json.wanted();
    const sim::Prediction prediction =
        sim::predict(scenario, {.keep_trace = trace.wanted() || every, .unroll = every, .fold = !every});
    nlohmann::ordered_json more = nlohmann::ordered_json::object();
    if (every) more["operations"] = report::operations(prediction);
    if (json.wanted()) json.write(report::json(scenario, prediction, more));
    if (trace.wanted()) report::chrome_trace(scenario, prediction, [&](std::string_view text) { trace.write(text); });
    const bool free = !json.to_stdout() && !trace.to_stdout();
    if (free && !options.display.quiet) print(report::terminal(scenario, prediction, options.display.style()));
    json.finish();
    trace.finish();
    return options.check && !prediction.fits ? Exit::outside_tolerance : Exit::done;
}

}  // namespace

void add_simulate(CLI::App& program, Exit& exit) {
    CLI::App* const command = program.add_subcommand("simulate", "predict a scenario's training step and report it");
    const auto options = std::make_shared<Options>();
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
    command->add_flag("--operations", options->operations,
                      "the JSON holds the times of every operation of every rank, for `orrery compare`");
    command->add_flag("--check", options->check, "exit with 1 when the scenario does not fit into memory");
    options->display.add_to(*command);
    command->footer(footer);
    command->callback([options, &exit] { exit = simulate(*options); });
}

}  // namespace orrery::cli
