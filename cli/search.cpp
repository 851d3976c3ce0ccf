// orrery search: the best plans of a model on a cluster.
#include "planning/search/search.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <charconv>
#include <cmath>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/text.hpp"
#include "cli/command.hpp"
#include "cli/planning_options.hpp"
#include "hardware/gpu.hpp"
#include "planning/sweep/values.hpp"
#include "report/html/plans_page.hpp"
#include "report/search.hpp"
#include "scenarios/override.hpp"

namespace orrery::cli {

namespace {

struct Options {
    ScenarioOptions scenario;
    DisplayOptions display;
    PlanningOptions planning;
    std::optional<std::string> gpus, gpu;
    std::string objective = "step";
    std::vector<std::string> fix, vary, price;
    std::size_t top = 10, most = 200'000;
    double idle = 0.125;
};

constexpr const char* footer =
    R"(Every legal plan is enumerated, dropped when its least memory is more than a GPU has or its least time more than
the best plans take, and simulated else: the answer is then proven for all of them.
--fix and --vary hold an axis of plans to some values; any other key of the scenario makes clusters or trainings that
are searched beside each other.
Examples:
  orrery search scenarios/gpt-1.7b-dgx-a100.json
  orrery search scenarios/gpt-1.7b-dgx-a100.json --fix strategy.tensor=2 --top 3 --json plans.json
  orrery search scenarios/gpt-1.7b-dgx-a100.json --gpus 8..64 --gpu A100-80GB,A100-40GB --objective cost
  orrery search scenarios/gpt-1.7b-dgx-a100.json --gpu A100-80GB,A100-40GB --objective cost --price A100-80GB=1.8 \
      --price A100-40GB=1.4)";

/// Splits what is asked for into rows of plans and axes of sites.
struct Asked {
    std::vector<scenarios::Override> set;
    std::vector<planning::Axis> sites;
    std::vector<std::pair<std::string, std::vector<std::string>>> given;

    /// changes: of the scenario's document.
    Asked(const Options& options, std::vector<scenarios::Override> changes) : set(std::move(changes)) {
        if (options.gpus) sites.push_back(planning::gpus_axis("--gpus", *options.gpus));
        if (options.gpu) {
            sites.push_back(planning::parse_axis("cluster.gpu=" + *options.gpu));
            set.push_back({"profile", "null"});  // each has its own
        }
        for (const std::string& text : options.fix) fix(scenarios::parse_override(text));
        for (const std::string& text : options.vary) vary(planning::parse_axis(text));
    }

private:
    void fix(const scenarios::Override& change) {
        scenarios::require_known(change);
        if (planning::Space::has_row(change.path))
            given.push_back({change.path, {change.value}});
        else
            set.push_back(change);
    }
    void vary(planning::Axis axis) {
        if (planning::Space::has_row(axis.key))
            given.push_back({axis.key, std::move(axis.values)});
        else
            sites.push_back(std::move(axis));
    }
};

planning::Objective objective_of(const std::string& name) {
    for (const planning::ObjectiveRow& row : planning::objectives)
        if (row.name == name) return row.kind;
    throw Error("--objective", "", fmt::format("\"{}\" is unknown", name), "step, time, cost or energy");
}

/// "H100=2.5".
planning::GpuPrices prices_of(const std::vector<std::string>& texts) {
    planning::GpuPrices prices;
    for (const std::string& text : texts) {
        const std::size_t equals = text.find('=');
        const hardware::Gpu* const gpu = hardware::find(text.substr(0, equals));
        if (gpu == nullptr)
            throw Error("--price " + text, "", "names no GPU", fmt::format("known: {}", join(hardware::names())));
        double price = 0;
        const char* const end = text.data() + text.size();
        const char* const number = equals == std::string::npos ? end : text.data() + equals + 1;
        const auto read = std::from_chars(number, end, price);
        if (read.ec != std::errc{} || read.ptr != end || !(price > 0) || !std::isfinite(price))
            throw Error("--price " + text, "", "is no price of a GPU-hour", "write a number above 0: H100=2.5");
        prices[gpu->name] = price;
    }
    return prices;
}

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

/// The scenario's own plan on the first site.
void ask_own(report::SearchReport& report, calibrate::ProfileStore& profiles) {
    try {
        report.own = planning::evaluate(report.question->sites.scenario(0), profiles);
    } catch (const Error& error) {
        report.own_problem = error.message();
    }
}

std::string command(const Options& options) {
    std::string text = options.scenario.command("search");
    const auto add = [&](const char* option, const std::string& value) {
        text += fmt::format(" {} {}", option, shell_word(value));
    };
    if (options.gpus) add("--gpus", *options.gpus);
    if (options.gpu) add("--gpu", *options.gpu);
    for (const std::string& each : options.fix) add("--fix", each);
    for (const std::string& each : options.vary) add("--vary", each);
    for (const std::string& each : options.price) add("--price", each);
    add("--objective", options.objective);
    add("--top", std::to_string(options.top));
    add("--html", options.planning.outputs.html);
    return text;
}

planning::SearchQuestion question_of(const Options& options) {
    nlohmann::json document = options.scenario.document();
    Asked asked(options, options.scenario.overrides(document));
    return {.sites = planning::Grid(options.scenario.source(), std::move(document), std::move(asked.set),
                                    std::move(asked.sites)),
            .given = std::move(asked.given),
            .objective = objective_of(options.objective),
            .prices = prices_of(options.price),
            .top = options.top,
            .idle = options.idle};
}

void search(const Options& options, Ranks& ranks) {
    const PlanningOptions& planning = options.planning;
    const std::filesystem::path log = planning.log_file();
    planning.require_distinct_files(options.scenario.file);
    const planning::SearchQuestion question = question_of(options);
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
    report::SearchReport report{&question, &*result, options.scenario.command("simulate"), {}, {}};
    ask_own(report, profiles);
    outputs.finish({.csv = [&] { return report::search_csv(report); },
                    .json = [&] { return report::search_json(report); },
                    .html = [&] { return report::search_page(report, command(options)); },
                    .text = [&] { return report::search_text(report, options.display.style()); }},
                   options.display);
    journal.remove();
}

/// For the rank that leads.
void serve(const Options& options, Ranks& ranks) {
    const planning::SearchQuestion question = question_of(options);
    calibrate::ProfileStore profiles;
    ranks.serve(planning::simulate_plans(question, profiles), options.planning.cores(ranks));
}

}  // namespace

void add_search(CLI::App& program, Exit&) { add_search(program, alone()); }

void add_search(CLI::App& program, Ranks& ranks) {
    CLI::App* const command = program.add_subcommand("search", "find the best plans of a model on a cluster");
    const auto options = std::make_shared<Options>();
    options->scenario.add_to(*command, {"--gpus", "--gpu"});
    command->add_option("--gpus", options->gpus, "sizes of the cluster: 512,1024 or 512..2048")->type_name("N");
    command->add_option("--gpu", options->gpu, "kinds of GPU: A100,H100")->type_name("NAME");
    command->add_option("--objective", options->objective, "what is least in the best plan: step, time, cost or energy")
        ->capture_default_str();
    command->add_option("--price", options->price, "price of a GPU-hour, for --objective cost; may be repeated")
        ->type_name("GPU=PRICE")
        ->allow_extra_args(false);
    command->add_option("--top", options->top, "how many of the best plans")
        ->check(CLI::Range(std::size_t{1}, std::size_t{10'000}))
        ->capture_default_str();
    command->add_option("--fix", options->fix, "hold a key to a value; may be repeated")
        ->type_name("KEY=VALUE")
        ->allow_extra_args(false);
    command->add_option("--vary", options->vary, "hold a key to some values; may be repeated")
        ->type_name("KEY=VALUES")
        ->allow_extra_args(false);
    command->add_option("--idle", options->idle, "share of the GPUs that a plan may leave idle")
        ->check(CLI::Range(0.0, 0.99))
        ->capture_default_str();
    command->add_option("--most", options->most, "simulate at most so many plans; the answer may then not be proven")
        ->check(CLI::Range(std::size_t{1}, std::size_t{100'000'000}))
        ->capture_default_str();
    options->planning.add_to(*command, "the best plans");
    options->display.add_to(*command);
    command->footer(footer);
    command->callback([options, &ranks] {
        options->scenario.blamed([&] { return ranks.lead() ? search(*options, ranks) : serve(*options, ranks); });
    });
}

}  // namespace orrery::cli
