// orrery merge: the parts of a sweep put together.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <utility>

#include "base/text.hpp"
#include "cli/command.hpp"
#include "cli/sweep_output.hpp"

namespace orrery::cli {

namespace {

struct MergeOptions {
    std::vector<std::string> files;
    PlanOutputOptions outputs;
    DisplayOptions display;
    std::size_t top = default_top;
};

constexpr const char* merge_footer =
    R"(The parts may be named in any order; all must be there. CSV and JSON have the same bytes
as those of the sweep in one piece.
Examples:
  orrery sweep scenarios/gpt-1.7b-dgx-a100.json --vary gpus=8..64x2 --shard 1/2 --json part-1.json
  orrery sweep scenarios/gpt-1.7b-dgx-a100.json --vary gpus=8..64x2 --shard 2/2 --json part-2.json
  orrery merge part-1.json part-2.json --csv points.csv)";

void merge(const MergeOptions& options) {
    require_distinct(options.outputs.files(), options.files);
    PlanOutputs outputs(options.outputs);
    planning::Merged merged = planning::merge(options.files);
    const planning::Sweep sweep = planning::ranked(std::move(merged.answers));
    if (sweep.best.empty())
        throw Error(options.files.front(), "",
                    "no point of this sweep is a legal scenario: " + sweep.answers.front().problem,
                    "vary other values");
    std::string command = "orrery merge";
    for (const std::string& file : options.files) command += ' ' + shell_word(file);
    outputs.finish(sweep_forms(merged.points, sweep, options.top, options.display, command), options.display);
}

}  // namespace

void add_merge(CLI::App& program, Exit&) {
    CLI::App* const command = program.add_subcommand("merge", "put the parts of a sweep together (sweep --shard)");
    const auto options = std::make_shared<MergeOptions>();
    command->add_option("FILES", options->files, "what `orrery sweep --shard` wrote, all parts")->required();
    options->outputs.add_to(*command, "every point");
    add_top(*command, options->top);
    options->display.add_to(*command);
    command->footer(merge_footer);
    command->callback([options] { merge(*options); });
}

}  // namespace orrery::cli
