// orrery diff: two predictions beside each other.
#include "report/diff.hpp"

#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/read_file.hpp"
#include "cli/command.hpp"
#include "cli/format.hpp"
#include "cli/options.hpp"
#include "documents/document.hpp"
#include "report/operations.hpp"

namespace orrery::cli {

namespace {

struct DiffOptions {
    std::string before, after, json;
    DisplayOptions display;
    FormatOption format;
};

constexpr const char* diff_footer = R"(Examples:
  orrery simulate scenarios/gpt3-175b-superpod-a100.json --json before.json
  orrery simulate scenarios/gpt3-175b-superpod-a100.json --set strategy.recompute=selective --json after.json
  orrery diff before.json after.json)";

nlohmann::json read(const std::string& file) {
    constexpr const char* hint = "simulate --json writes such files";
    return documents::parse_document(read_file(file, hint, report::most_operations_bytes), file, {.example = hint});
}

Exit diff(const DiffOptions& options) {
    require_distinct({options.json, options.format.path()}, {options.before, options.after});
    const auto before = read(options.before), after = read(options.after);
    Output json(options.json);
    const report::Difference result = report::difference(before, options.before, after, options.after);
    if (json.wanted()) json.write(report::to_json(result).dump(2) + '\n');
    options.format.print({.text = [&] { return report::to_text(result, options.display.style()); },
                          .csv = [&] { return report::records(result).csv(); },
                          .json = [&] { return report::to_json(result).dump(2) + '\n'; }},
                         json.to_stdout() || options.display.quiet);
    json.finish();
    return Exit::done;
}

}  // namespace

void add_diff(CLI::App& program, Exit& exit) {
    CLI::App* const command =
        program.add_subcommand("diff", "two predictions: what differs in the scenario, and in the answer");
    const auto options = std::make_shared<DiffOptions>();
    command->add_option("BEFORE", options->before, "report of simulate --json")->required();
    command->add_option("AFTER", options->after, "report of simulate --json")->required();
    command->add_option("--json", options->json, "write the difference as JSON; - for standard output")
        ->type_name("FILE");
    options->format.add_to(*command, "a line a difference");
    options->display.add_to(*command);
    command->footer(diff_footer);
    command->callback([options, &exit] { exit = diff(*options); });
}

}  // namespace orrery::cli
