// orrery capacity: which cluster, how long, for how much.
#include "report/capacity.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/progress.hpp"
#include "base/today.hpp"
#include "cli/command.hpp"
#include "cli/options.hpp"
#include "documents/document.hpp"
#include "planning/capacity/answer.hpp"

namespace orrery::cli {

namespace {

struct Options {
    std::string question, json, cache;
    bool no_cache = false;
    DisplayOptions display;
};

constexpr const char* footer = R"(Examples:
  orrery capacity scenarios/capacity/llama3-70b.json
  orrery capacity scenarios/capacity/gpt3-175b.json --json - | jq .chosen

Predictions are kept beside the question (QUESTION.predictions), so that another price is answered at once, and a
command that was interrupted goes on.)";

Exit ask(const Options& options) {
    require_distinct({options.json, options.cache}, {options.question});
    const nlohmann::json document = documents::read_document(options.question);
    const capacity::Question question = capacity::read_question(document, options.question, today());
    Output json(options.json);
    const std::string cache = options.cache.empty() ? options.question + ".predictions" : options.cache;
    capacity::FactsFile known(options.no_cache ? "" : cache);
    const capacity::Answer answer = [&] {
        Progress progress("capacity", options.display.quiet);
        return capacity::answer(question, known,
                                [&](std::size_t done, std::size_t total) { progress.show(done, total); });
    }();
    if (json.wanted()) json.write(report::capacity_json(question, answer).dump(2) + '\n');
    if (!json.to_stdout() && !options.display.quiet)
        print(report::capacity_text(question, answer, options.display.style()));
    json.finish();
    return Exit::done;
}

}  // namespace

void add_capacity(CLI::App& program, Exit& exit) {
    CLI::App* const command = program.add_subcommand(
        "capacity", "days, GPU-hours, money and energy of a training on each of several clusters, and what binds");
    const auto options = std::make_shared<Options>();
    command->add_option("QUESTION", options->question, "model, tokens, deadline or budget, candidates (JSON)")
        ->required();
    command->add_option("--json", options->json, "write the answer as JSON; - for standard output")->type_name("FILE");
    auto* const file =
        command->add_option("--cache", options->cache, "where predictions are kept; QUESTION.predictions when absent")
            ->type_name("FILE");
    command->add_flag("--no-cache", options->no_cache, "keep none, and use none")->excludes(file);
    options->display.add_to(*command);
    command->footer(footer);
    command->callback([options, &exit] { exit = ask(*options); });
}

}  // namespace orrery::cli
