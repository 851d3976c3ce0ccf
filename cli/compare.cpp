// orrery compare: a prediction held against a measurement.
#include "report/compare.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/read_file.hpp"
#include "base/text.hpp"
#include "cli/command.hpp"
#include "cli/format.hpp"
#include "cli/number.hpp"
#include "cli/options.hpp"
#include "documents/document.hpp"
#include "report/html/compare_page.hpp"
#include "report/html/page.hpp"
#include "report/operations.hpp"

namespace orrery::cli {

namespace {

struct CompareOptions {
    std::string predicted, measured, json, html;
    double tolerance_percent = 10;
    std::size_t rows = 12;
    DisplayOptions display;
    FormatOption format;
};

constexpr const char* compare_footer = R"(Examples:
  orrery simulate scenarios/gpt-tiny-cpu.json --operations --json predicted.json
  orrery run scenarios/gpt-tiny-cpu.json --json measured.json
  orrery compare predicted.json measured.json --tolerance 5
  orrery compare predicted.json measured.json --html compare.html    # to look at
Exit code 1 when the step time is outside the tolerance.)";

nlohmann::json read(const std::string& file) {
    constexpr std::uint64_t most_bytes = 2 * report::most_operations_bytes;  // measured ones have a spread besides
    constexpr const char* hint = "simulate --json, run --json, import torch-trace and import nsys write such files";
    return documents::parse_document(read_file(file, hint, most_bytes), file, {.example = hint});
}

std::string command(const CompareOptions& options) {
    return fmt::format("orrery compare {} {} --tolerance {} --html {}", shell_word(options.predicted),
                       shell_word(options.measured), options.tolerance_percent, shell_word(options.html));
}

Exit compare(const CompareOptions& options) {
    require_distinct({options.json, options.html, options.format.path()}, {options.predicted, options.measured});
    const auto predicted = read(options.predicted), measured = read(options.measured);
    if (!options.html.empty()) report::require_page();
    Output json(options.json), html(options.html);
    const report::Comparison result = report::compare(predicted, options.predicted, measured, options.measured);
    if (json.wanted()) json.write(report::to_json(result).dump(2) + '\n');
    const double tolerance = options.tolerance_percent / 100;
    if (html.wanted())
        html.write(report::compare_page(result, {predicted, options.predicted}, {measured, options.measured}, tolerance,
                                        command(options)));
    options.format.print({.text = [&] { return report::to_text(result, options.display.style(), options.rows); },
                          .csv = [&] { return report::records(result).csv(); },
                          .json = [&] { return report::to_json(result).dump(2) + '\n'; }},
                         json.to_stdout() || html.to_stdout() || options.display.quiet);
    finish_all({&json, &html});
    return std::abs(result.step.error()) <= tolerance ? Exit::done : Exit::outside_tolerance;
}

}  // namespace

void add_compare(CLI::App& program, Exit& exit) {
    CLI::App* const command =
        program.add_subcommand("compare", "hold a prediction against a measured run: step, categories, operations");
    const auto options = std::make_shared<CompareOptions>();
    command->add_option("PREDICTED", options->predicted, "report of simulate --operations --json")->required();
    command->add_option("MEASURED", options->measured, "report of run --json, or what import torch-trace or nsys wrote")
        ->required();
    command->add_option("--tolerance", options->tolerance_percent, "of the step time, in percent")
        ->check(number_between(0, 1e6))
        ->capture_default_str();
    command->add_option("--rows", options->rows, "groups of operations to list")->capture_default_str();
    command->add_option("--json", options->json, "write the comparison as JSON; - for standard output")
        ->type_name("FILE");
    command
        ->add_option("--html", options->html, "write a page to look at: both timelines, errors by kind and operation")
        ->type_name("FILE");
    options->format.add_to(*command, "a line for the step, each category and each operation");
    options->display.add_to(*command);
    command->footer(compare_footer);
    command->callback([options, &exit] { exit = compare(*options); });
}

}  // namespace orrery::cli
