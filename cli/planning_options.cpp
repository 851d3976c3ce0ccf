#include "cli/planning_options.hpp"

#include <CLI/CLI.hpp>
#include <utility>

#include "report/html/page.hpp"

namespace orrery::cli {

namespace {

namespace fs = std::filesystem;

constexpr unsigned most_threads = 1024;

/// Not a pipe, and not /dev/null.
bool is_file(const std::string& output) {
    if (output.empty() || output == "-") return false;
    std::error_code none;
    return !fs::exists(output, none) || fs::is_regular_file(output, none);
}

}  // namespace

void PlanOutputOptions::add_to(CLI::App& command, const std::string& what) {
    command.add_option("--csv", csv, "write " + what + " as CSV; - for standard output")->type_name("FILE");
    command.add_option("--json", json, "write " + what + " as JSON; - for standard output")->type_name("FILE");
    command.add_option("--html", html, "write " + what + " as one HTML file, which any browser opens")
        ->type_name("FILE");
    format.add_to(command, what + ", as --csv");
}

PlanOutputs::PlanOutputs(const PlanOutputOptions& options)
    : csv_(options.csv), json_(options.json), html_(options.html), format_(options.format) {
    if (html_.wanted()) report::require_page();
}

void PlanOutputs::finish(const PlanForms& forms, const DisplayOptions& display) {
    bool free = true;
    for (const auto& [output, form] : {std::pair{&csv_, &forms.csv}, {&json_, &forms.json}, {&html_, &forms.html}}) {
        if (output->wanted()) output->write((*form)());
        free = free && !output->to_stdout();
    }
    format_.print({forms.text, forms.csv, forms.json}, !free || display.quiet);
    for (Output* const output : {&csv_, &json_, &html_}) output->finish();
}

void PlanningOptions::add_to(CLI::App& command, const std::string& what) {
    outputs.add_to(command, what);
    command
        .add_option("--log", log,
                    "keep what is done in this file, so that the same command goes on after a kill; beside the first "
                    "output file when absent")
        ->type_name("FILE");
    command.add_flag("--fresh", fresh, "drop what the log holds and begin anew");
    command
        .add_option("--threads", threads,
                    "simulate so many at once; all cores when absent, one a rank of orrery-worker")
        ->check(CLI::Range(1U, most_threads));
}

fs::path PlanningOptions::log_file() const {
    if (!log.empty()) return log;
    for (const std::string& output : outputs.files())
        if (is_file(output)) return output + ".log";
    return {};
}

void PlanningOptions::require_distinct_files(const std::string& input) const {
    std::vector<std::string> files = outputs.files();
    files.push_back(log_file().string());
    require_distinct(files, {input});
}

std::unique_ptr<UndoneWhenInterrupted> tell_when_interrupted(const fs::path& log) {
    if (log.empty()) return nullptr;
    return std::make_unique<UndoneWhenInterrupted>(
        [file = log.string()] { note(file, "holds what is done: the same command goes on from there"); });
}

unsigned PlanningOptions::cores(const Ranks& ranks) const { return threads > 0 ? threads : ranks.usual_threads(); }

}  // namespace orrery::cli
