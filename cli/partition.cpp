// orrery partition: the layers of a model divided among stages, and the batch among data ranks.
#include "report/partition.hpp"

#include <CLI/CLI.hpp>
#include <memory>

#include "calibrate/profile_store.hpp"
#include "cli/command.hpp"
#include "cli/format.hpp"
#include "cli/options.hpp"

namespace orrery::cli {

namespace {

struct PartitionOptions {
    ScenarioOptions scenario;
    DisplayOptions display;
    FormatOption format;
};

constexpr const char* partition_footer =
    R"(Twice: among the plan's stages, which have equally many ranks, so that the slowest of them takes least (what
strategy.pipeline_layers then says); and as PipeDream does it, where each stage has as many workers as it needs to keep
up, which no plan can say. Where data ranks are on several kinds of GPU, also the batch among them
(strategy.replica_micro_batches).
Examples:
  orrery partition scenarios/gpt3-175b-superpod-a100.json
  orrery partition scenarios/gpt-1.3b-a100-h100.json --set strategy.pipeline=1 --set strategy.data=16
  orrery partition scenarios/bert-large-dgx-1v.json --format json)";

void partition(const PartitionOptions& options) {
    calibrate::ProfileStore profiles;
    const planning::Partition found = planning::partition(options.scenario.load(), profiles);
    const std::string simulate = options.scenario.command("simulate");
    options.format.print({.text = [&] { return report::partition_text(found, simulate, options.display.style()); },
                          .csv = [&] { return report::partition_csv(found); },
                          .json = [&] { return report::partition_json(found); }},
                         options.display.quiet);
}

}  // namespace

void add_partition(CLI::App& program, Exit&) {
    CLI::App* const command =
        program.add_subcommand("partition", "divide a model's layers among stages so that the slowest takes least");
    const auto options = std::make_shared<PartitionOptions>();
    options->scenario.add_to(*command);
    options->format.add_to(*command, "a line a stage");
    options->display.add_to(*command);
    command->footer(partition_footer);
    command->callback([options] { options->scenario.blamed([&] { return partition(*options); }); });
}

}  // namespace orrery::cli
