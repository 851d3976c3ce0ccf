// orrery placement: which rank on which GPU, and what a better order would save.
#include "report/placement.hpp"

#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/command.hpp"
#include "cli/format.hpp"
#include "cli/options.hpp"
#include "report/records.hpp"

namespace orrery::cli {

namespace {

struct PlacementOptions {
    ScenarioOptions scenario;
    DisplayOptions display;
    FormatOption format;
    std::string json;
};

constexpr const char* placement_footer =
    R"(Each is simulated: the scenario's own placement, all orders of its axes, round robin.
Orders name the axis that varies fastest over GPUs first, as Megatron-LM does.
Examples:
  orrery placement scenarios/gpt3-175b-superpod-a100.json
  orrery placement scenarios/gpt-neox-20b-ethernet.json --set strategy.placement=tp-pp-dp
  orrery placement scenarios/gpt3-175b-superpod-a100.json --set strategy.placement_file=gpus.txt
  orrery placement scenarios/gpt3-175b-superpod-a100.json --json - | jq .recommended)";

void compare(const PlacementOptions& options) {
    require_distinct({options.json, options.format.path()}, {options.scenario.file});
    const scenarios::Scenario scenario = options.scenario.load();
    Output json(options.json);
    calibrate::ProfileStore profiles;
    const sim::PlacementComparison comparison = sim::compare_placements(scenario, profiles);
    if (json.wanted()) json.write(report::placement_json(scenario, comparison));
    const auto rows = [&] {
        return nlohmann::ordered_json::parse(report::placement_json(scenario, comparison)).at("placements");
    };
    options.format.print({.text = [&] { return report::placement_text(scenario, comparison, options.display.style()); },
                          .csv = [&] { return report::Records::of(rows()).csv(); },
                          .json = [&] { return report::placement_json(scenario, comparison); }},
                         json.to_stdout() || options.display.quiet);
    json.finish();
}

}  // namespace

void add_placement(CLI::App& program, Exit&) {
    CLI::App* const command =
        program.add_subcommand("placement", "compare placements of a scenario's ranks on GPUs, fastest first");
    const auto options = std::make_shared<PlacementOptions>();
    options->scenario.add_to(*command);
    command->add_option("--json", options->json, "write the comparison as JSON; - for standard output")
        ->type_name("FILE");
    options->format.add_to(*command, "a line a placement");
    options->display.add_to(*command);
    command->footer(placement_footer);
    command->callback([options] { options->scenario.blamed([&] { return compare(*options); }); });
}

}  // namespace orrery::cli
