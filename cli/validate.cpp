// orrery validate: predictions against published measurements.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/data_folder.hpp"
#include "base/parallel.hpp"
#include "base/progress.hpp"
#include "base/text.hpp"
#include "cli/command.hpp"
#include "cli/format.hpp"
#include "cli/options.hpp"
#include "cli/validate_run.hpp"
#include "report/html/page.hpp"
#include "report/html/validation_page.hpp"
#include "report/json.hpp"
#include "report/records.hpp"
#include "scenarios/shipped.hpp"
#include "validate/carry.hpp"
#include "validate/output.hpp"
#include "validate/row_scenario.hpp"
#include "validate/rows.hpp"
#include "validate/run.hpp"

namespace orrery::cli {

namespace {

struct ValidateOptions {
    std::vector<std::string> files;
    std::string json, html, carry, into, row;
    FormatOption format;
    bool quiet = false, held_out = false, run = false;
    ValidateRun executed;
};

constexpr const char* validate_footer = R"(Examples:
  orrery validate                                            # the set that comes with the program
  orrery validate scenarios/validation/megatron_papers.json
  orrery validate --held-out scenarios/validation/aiconfigurator_collectives.json
  orrery validate --scenario megatron/sc21_t1_18B             # the scenario that a row becomes
  orrery validate --json errors.json --html errors.html --quiet
  orrery validate --run scenarios/gpt-tiny-cpu.json --case strategy.data=2 --case strategy.tensor=2   # on this machine
  orrery validate --run two-hosts.json --hosts nodes --wall    # on a small cluster
  orrery validate --carry published/ --into rows/             # the compact form of other files)";

std::string command_of(const ValidateOptions& options) {
    std::string text = "orrery validate";
    for (const std::string& file : options.files) text += " " + shell_word(file);
    return text + (options.held_out ? " --held-out" : "") + " --html " + shell_word(options.html);
}

std::vector<std::filesystem::path> files_of(const ValidateOptions& options) {
    return options.files.empty() ? validate::carried_files()
                                 : std::vector<std::filesystem::path>(options.files.begin(), options.files.end());
}

/// A slip in a field's name would be taken for an error of the prediction.
void note_unread(const std::vector<std::string>& files) {
    for (const std::string& file : files)
        if (const auto fields = validate::unread_fields(validate::load_rows(file)); !fields.empty())
            note(file, fmt::format("no field that is read: {}", join(fields)));
}

void run_validation(const ValidateOptions& options) {
    require_distinct({options.json, options.html, options.format.path()}, options.files);
    if (!options.html.empty()) report::require_page();
    Output json(options.json), html(options.html);
    note_unread(options.files);
    const std::vector<std::filesystem::path> files = files_of(options);
    const validate::Report report = [&] {
        Progress progress("validate", 0, options.quiet);
        const auto show = [&](std::size_t done, std::size_t total) { progress.show(done, total); };
        return validate::validate_files(files, validate::simulator(options.held_out), show, all_cores());
    }();
    const auto scores = validate::to_json(report);
    if (json.wanted()) json.write(scores.dump(2) + '\n');
    if (html.wanted()) html.write(report::validation_page(scores, command_of(options)));
    options.format.print({.text = [&] { return validate::to_text(report); },
                          .csv = [&] { return report::Records::of(scores.at("rows")).csv(); },
                          .json = [&] { return scores.dump(2) + '\n'; }},
                         json.to_stdout() || html.to_stdout() || options.quiet);
    finish_all({&json, &html});
}

/// calibrate, predict, run, compare: each scenario in each case.
Exit run_scenarios(ValidateOptions& options) {
    if (options.files.empty()) throw Error("--run names no scenario", "as in --run scenarios/gpt-tiny-cpu.json");
    for (const std::string& named : options.files) options.executed.scenarios.push_back(scenarios::file_of(named));
    options.executed.json = options.json;
    options.executed.quiet = options.quiet;
    return validate_run(options.executed);
}

void add_running(CLI::App& command, ValidateOptions& options) {
    ValidateRun& run = options.executed;
    auto* const flag = command.add_flag("--run", options.run,
                                        "execute scenarios here: calibrate what is missing, predict, run, compare");
    command.add_option("--case", run.cases, "overrides of one configuration, separated by spaces; may be repeated")
        ->type_name("PATH=VALUE...")
        ->allow_extra_args(false)
        ->needs(flag);
    command.add_option("--device", run.device, "cpu, cpu:4 (threads a rank)")->capture_default_str()->needs(flag);
    command.add_option("--steps", run.steps, "steps of each run")
        ->check(CLI::Range(5U, 100000U))
        ->capture_default_str()
        ->needs(flag);
    command.add_option("--hosts", run.hosts, "Open MPI host file: one host a line, as in: node1 slots=2")
        ->type_name("FILE")
        ->needs(flag);
    command.add_option("--profiles", run.profiles, "folder of the profiles that are measured")
        ->capture_default_str()
        ->type_name("FOLDER")
        ->needs(flag);
    command.add_option("--tolerance", run.tolerance_percent, "of the median error, in percent; exit code 1 beyond it")
        ->capture_default_str()
        ->needs(flag);
    command.add_flag("--wall", run.wall, "compare with the wall clock, not with undisturbed steps")->needs(flag);
    command.add_option("--svg", run.svg, "plot predicted against measured")->type_name("FILE")->needs(flag);
}

void carry(const ValidateOptions& options) {
    validate::carry(options.carry,
                    options.into.empty() ? data_folder() / "validation" : std::filesystem::path(options.into));
}

void print_scenario(const ValidateOptions& options) {
    const auto predictor = validate::simulator();
    const auto scenario = validate::scenario_of_row(files_of(options), options.row, predictor.has_profile);
    print(report::resolved(scenario).dump(2) + '\n');
}

}  // namespace

void add_validate(CLI::App& program, Exit& exit) {
    CLI::App* const command =
        program.add_subcommand("validate", "predict every row of files of published measurements and score the errors");
    const auto options = std::make_shared<ValidateOptions>();
    command->add_option("ROWS", options->files,
                        "files of rows (JSON), or with --run scenarios; without one, the set that the project carries");
    command->add_option("--json", options->json, "write rows, sources and scores as JSON; - for standard output")
        ->type_name("FILE");
    command->add_option("--html", options->html, "write a page to look at")->type_name("FILE");
    auto* const from = command->add_option("--carry", options->carry,
                                           "write the compact form of a folder's files, instead of predicting them");
    from->type_name("FOLDER");
    command->add_option("--into", options->into, "the folder that --carry writes; without it, the carried set's")
        ->type_name("FOLDER")
        ->needs(from);
    command->add_option("--scenario", options->row, "print the scenario that this row becomes, instead of scores")
        ->type_name("ROW")
        ->excludes(from);
    options->format.add_to(*command, "a line a row");
    add_running(*command, *options);
    command->add_flag("--held-out", options->held_out,
                      "calibrate each one-node sweep of a collective with every second size, and score the others");
    command->add_flag("--quiet,-q", options->quiet, "print no tables and no progress");
    command->footer(validate_footer);
    command->callback([options, &exit] {
        if (!options->row.empty() && (options->run || !options->json.empty() || !options->html.empty()))
            throw Error("--scenario prints one scenario and no scores", "leave out --run, --json and --html");
        if (!options->html.empty() && (options->run || !options->carry.empty()))
            throw Error("--html shows published rows that are predicted", "leave out --run and --carry");
        if (options->format.for_programs() && (options->run || !options->carry.empty()))
            throw Error("--format is of published rows that are predicted",
                        "leave out --run and --carry, or take --json");
        if (options->run)
            exit = run_scenarios(*options);
        else if (!options->carry.empty())
            carry(*options);
        else
            options->row.empty() ? run_validation(*options) : print_scenario(*options);
    });
}

}  // namespace orrery::cli
