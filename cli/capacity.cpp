// orrery capacity: which cluster, how long, for how much.
#include "report/capacity.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/progress.hpp"
#include "base/text.hpp"
#include "base/today.hpp"
#include "cli/command.hpp"
#include "cli/format.hpp"
#include "cli/options.hpp"
#include "documents/document.hpp"
#include "planning/capacity/answer.hpp"
#include "report/html/capacity_page.hpp"
#include "report/html/page.hpp"
#include "report/records.hpp"

namespace orrery::cli {

namespace {

struct CapacityOptions {
    std::string question, json, html, cache;
    bool no_cache = false;
    DisplayOptions display;
    FormatOption format;
};

constexpr const char* capacity_footer = R"(Examples:
  orrery capacity scenarios/capacity/llama3-70b.json
  orrery capacity scenarios/capacity/gpt3-175b.json --json - | jq .chosen
  orrery capacity scenarios/capacity/llama3-70b.json --html answer.html

Predictions are kept beside the question (QUESTION.predictions), so that another price is answered at once, and a
command that was interrupted goes on.)";

Exit ask(const CapacityOptions& options) {
    require_distinct({options.json, options.html, options.cache, options.format.path()}, {options.question});
    if (!options.html.empty()) report::require_page();
    const nlohmann::json document = documents::read_document(options.question);
    const capacity::Question question = capacity::read_question(document, options.question, today());
    Output json(options.json), html(options.html);
    const std::string cache = options.cache.empty() ? options.question + ".predictions" : options.cache;
    capacity::FactsFile known(options.no_cache ? "" : cache);
    const capacity::Answer answer = [&] {
        Progress progress("capacity", options.display.quiet);
        return capacity::answer(question, known,
                                [&](std::size_t done, std::size_t total) { progress.show(done, total); });
    }();
    const auto answered = report::capacity_json(question, answer);
    if (json.wanted()) json.write(answered.dump(2) + '\n');
    if (html.wanted())
        html.write(report::capacity_page(
            answered,
            fmt::format("orrery capacity {} --html {}", shell_word(options.question), shell_word(options.html))));
    options.format.print({.text = [&] { return report::capacity_text(question, answer, options.display.style()); },
                          .csv = [&] { return report::Records::of(answered.at("candidates")).csv(); },
                          .json = [&] { return answered.dump(2) + '\n'; }},
                         json.to_stdout() || html.to_stdout() || options.display.quiet);
    finish_all({&json, &html});
    return Exit::done;
}

}  // namespace

void add_capacity(CLI::App& program, Exit& exit) {
    CLI::App* const command = program.add_subcommand(
        "capacity", "days, GPU-hours, money and energy of a training on each of several clusters, and what binds");
    const auto options = std::make_shared<CapacityOptions>();
    command->add_option("QUESTION", options->question, "model, tokens, deadline or budget, candidates (JSON)")
        ->required();
    command->add_option("--json", options->json, "write the answer as JSON; - for standard output")->type_name("FILE");
    command->add_option("--html", options->html, "write a page to look at")->type_name("FILE");
    auto* const file =
        command->add_option("--cache", options->cache, "where predictions are kept; QUESTION.predictions when absent")
            ->type_name("FILE");
    command->add_flag("--no-cache", options->no_cache, "keep none, and use none")->excludes(file);
    options->format.add_to(*command, "a line a candidate");
    options->display.add_to(*command);
    command->footer(capacity_footer);
    command->callback([options, &exit] { exit = ask(*options); });
}

}  // namespace orrery::cli
