// orrery search: the best plans of a model on a cluster.
#include "report/search.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <optional>

#include "base/text.hpp"
#include "cli/command.hpp"
#include "cli/number.hpp"
#include "cli/planning_options.hpp"
#include "planning/search/question.hpp"
#include "report/html/plans_page.hpp"

namespace orrery::cli {

namespace {

struct SearchOptions {
    ScenarioOptions scenario;
    DisplayOptions display;
    PlanningOptions planning;
    planning::SearchWishes wishes;
    std::size_t most = 200'000;
};

constexpr const char* search_footer =
    R"(Every legal plan along the axes that the answer names is enumerated, dropped when its least memory is more than a
GPU has or its least time more than the best plans take, and simulated else: the answer is then proven for all of them.
--fix and --vary hold an axis of plans to some values; any other key of the scenario makes clusters or trainings that
are searched beside each other.
Examples:
  orrery search scenarios/gpt-1.7b-dgx-a100.json
  orrery search scenarios/gpt-1.7b-dgx-a100.json --fix strategy.tensor=2 --top 3 --json plans.json
  orrery search scenarios/gpt-1.7b-dgx-a100.json --gpus 8..64 --gpu A100-80GB,A100-40GB --objective cost
  orrery search scenarios/gpt-1.7b-dgx-a100.json --gpu A100-80GB,A100-40GB --objective cost --price A100-80GB=1.8 \
      --price A100-40GB=1.4)";

/// One bar after the other.
class Watch {
public:
    explicit Watch(bool quiet) : quiet_(quiet) {}
    void begin(const char* part, std::size_t steps) { bar_.emplace(part, steps, quiet_); }
    void done() { bar_->advance(); }

private:
    bool quiet_;
    std::optional<Progress> bar_;
};

std::string command(const SearchOptions& options) {
    std::string text = options.scenario.command("search");
    const auto add = [&](const char* option, const std::string& value) {
        text += fmt::format(" {} {}", option, shell_word(value));
    };
    if (options.wishes.gpus) add("--gpus", *options.wishes.gpus);
    if (options.wishes.gpu) add("--gpu", *options.wishes.gpu);
    for (const std::string& each : options.wishes.fix) add("--fix", each);
    for (const std::string& each : options.wishes.vary) add("--vary", each);
    for (const std::string& each : options.wishes.price) add("--price", each);
    add("--objective", options.wishes.objective);
    add("--top", std::to_string(options.wishes.top));
    add("--html", options.planning.outputs.html);
    return text;
}

void search(const SearchOptions& options, Ranks& ranks) {
    const PlanningOptions& planning = options.planning;
    const std::filesystem::path log = planning.log_file();
    planning.require_distinct_files(options.scenario.file);
    const planning::SearchQuestion question = planning::question_of(options.scenario, options.wishes);
    PlanOutputs outputs(planning.outputs);
    calibrate::ProfileStore profiles;
    planning::Journal journal(log, {"search", question.fingerprint(), planning::Journal::any}, planning.start());
    Watch watch(options.display.quiet);
    std::optional<planning::SearchResult> result;
    {
        const auto told = tell_when_interrupted(log);
        result = planning::search(question, profiles, journal,
                                  {.threads = planning.cores(ranks),
                                   .crew = ranks.crew(planning.cores(ranks)),
                                   .most_simulated = options.most,
                                   .begin = [&](const char* part, std::size_t steps) { watch.begin(part, steps); },
                                   .done = [&] { watch.done(); }});
    }
    const report::SearchReport report{&question, &*result, options.scenario.unchanged().command("simulate"),
                                      planning::own_plan(question, profiles)};
    outputs.finish({.csv = [&] { return report::search_csv(report); },
                    .json = [&] { return report::search_json(report); },
                    .html = [&] { return report::search_page(report, command(options)); },
                    .text = [&] { return report::search_text(report, options.display.style()); }},
                   options.display);
    journal.remove();
}

/// For the rank that leads.
void serve(const SearchOptions& options, Ranks& ranks) {
    const planning::SearchQuestion question = planning::question_of(options.scenario, options.wishes);
    calibrate::ProfileStore profiles;
    ranks.serve(planning::simulate_plans(question, profiles), options.planning.cores(ranks));
}

}  // namespace

void add_search(CLI::App& program, Exit&) { add_search(program, alone()); }

void add_search(CLI::App& program, Ranks& ranks) {
    CLI::App* const command = program.add_subcommand("search", "find the best plans of a model on a cluster");
    const auto options = std::make_shared<SearchOptions>();
    options->scenario.add_to(*command, {"--gpus", "--gpu"});
    command->add_option("--gpus", options->wishes.gpus, "sizes of the cluster: 512,1024 or 512..2048")->type_name("N");
    command->add_option("--gpu", options->wishes.gpu, "kinds of GPU: A100,H100")->type_name("NAME");
    command
        ->add_option("--objective", options->wishes.objective,
                     "what is least in the best plan: step, time, cost or energy")
        ->capture_default_str();
    command->add_option("--price", options->wishes.price, "price of a GPU-hour, for --objective cost; may be repeated")
        ->type_name("GPU=PRICE")
        ->allow_extra_args(false);
    command->add_option("--top", options->wishes.top, "how many of the best plans")
        ->check(CLI::Range(std::size_t{1}, std::size_t{10'000}))
        ->capture_default_str();
    command->add_option("--fix", options->wishes.fix, "hold a key to a value; may be repeated")
        ->type_name("KEY=VALUE")
        ->allow_extra_args(false);
    command->add_option("--vary", options->wishes.vary, "hold a key to some values; may be repeated")
        ->type_name("KEY=VALUES")
        ->allow_extra_args(false);
    command->add_option("--idle", options->wishes.idle, "share of the GPUs that a plan may leave idle")
        ->check(number_between(0, 0.99))
        ->capture_default_str();
    command->add_option("--most", options->most, "simulate at most so many plans; the answer may then not be proven")
        ->check(CLI::Range(std::size_t{1}, std::size_t{100'000'000}))
        ->capture_default_str();
    options->planning.add_to(*command, "the best plans");
    options->display.add_to(*command);
    command->footer(search_footer);
    command->callback([options, &ranks] {
        options->scenario.blamed([&] { return ranks.lead() ? search(*options, ranks) : serve(*options, ranks); });
    });
}

}  // namespace orrery::cli
