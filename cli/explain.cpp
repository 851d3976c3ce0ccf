// orrery explain: what a rank does and where its times come from.
#include <CLI/CLI.hpp>
#include <cstdint>
#include <memory>

#include "base/terminal.hpp"
#include "cli/command.hpp"
#include "cli/format.hpp"
#include "cli/options.hpp"
#include "report/rank_view.hpp"

namespace orrery::cli {

namespace {

struct ExplainOptions {
    ScenarioOptions scenario;
    std::uint32_t rank = 0;
    bool kernels = false;
    FormatOption format;
};

constexpr const char* explain_footer = R"(Examples:
  orrery explain scenarios/gpt3-175b-superpod-a100.json | less -S
  orrery explain scenarios/gpt3-175b-superpod-a100.json --rank 1023    # a rank of the last pipeline stage
  orrery explain scenarios/gpt3-175b-superpod-a100.json --kernels | less -S    # what takes how much of the step
  orrery explain scenarios/gpt3-175b-superpod-a100.json --format csv    # the same for programs)";

void explain(const ExplainOptions& options) {
    const scenarios::Scenario scenario = options.scenario.load();
    const report::RankView rank(scenario, options.rank);
    options.format.print(
        {.text = [&] { return options.kernels ? rank.table().text(text_columns(Stream::out)) : rank.text(); },
         .csv = [&] { return rank.table().csv(); },
         .json = [&] { return rank.table().json(); }},
        false);
}

}  // namespace

void add_explain(CLI::App& program, Exit&) {
    CLI::App* const command = program.add_subcommand(
        "explain", "show the step program of one rank and where the time of each kernel and transfer comes from");
    const auto options = std::make_shared<ExplainOptions>();
    options->scenario.add_to(*command);
    command->add_option("--rank", options->rank, "global rank, tensor varying fastest")->capture_default_str();
    command->add_flag("--kernels", options->kernels,
                      "only the table of its kernels and transfers, the most expensive first, with where each time "
                      "comes from");
    options->format.add_to(*command, "a line a kernel or transfer");
    command->footer(explain_footer);
    command->callback([options] { options->scenario.blamed([&] { return explain(*options); }); });
}

}  // namespace orrery::cli
