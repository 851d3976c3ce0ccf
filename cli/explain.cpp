// orrery explain: what a rank does and where its times come from.
#include "report/explain.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdint>
#include <memory>

#include "calibrate/profile_store.hpp"
#include "cli/command.hpp"
#include "cli/options.hpp"
#include "sim/predict.hpp"
#include "topology/catalog.hpp"

namespace orrery::cli {

namespace {

struct Options {
    ScenarioOptions scenario;
    std::uint32_t rank = 0;
};

constexpr const char* footer = R"(Examples:
  orrery explain scenarios/gpt3-175b-superpod-a100.json | less -S
  orrery explain scenarios/gpt3-175b-superpod-a100.json --rank 1023    # a rank of the last pipeline stage)";

void explain(const Options& options) {
    const scenarios::Scenario scenario = options.scenario.load();
    const sim::Prediction prediction =
        sim::predict(scenario, {.keep_trace = true, .scale_factor = false, .advice = false});
    calibrate::ProfileStore profiles;
    const topology::Cluster cluster = topology::build(scenario.cluster);
    // A rank that is not there has no GPU; explain() says so.
    const std::uint32_t rank = std::min(options.rank, scenario.gpus - 1);
    const topology::Gpu& gpu = cluster.gpu_of(scenario.plan.placement.gpu(rank));
    const calibrate::Predictor& predictor = sim::profiles_of(scenario, cluster, profiles).of(gpu);
    print(report::explain(scenario, prediction, predictor, cluster.gpus_per_node(), options.rank));
}

}  // namespace

void add_explain(CLI::App& program, Exit&) {
    CLI::App* const command = program.add_subcommand(
        "explain", "show the step program of one rank and where the time of each kernel and transfer comes from");
    const auto options = std::make_shared<Options>();
    options->scenario.add_to(*command);
    command->add_option("--rank", options->rank, "global rank, tensor varying fastest")->capture_default_str();
    command->footer(footer);
    command->callback([options] { options->scenario.blamed([&] { return explain(*options); }); });
}

}  // namespace orrery::cli
