// orrery export: a step program in the formats of other simulators.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <filesystem>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "base/text.hpp"
#include "base/units.hpp"
#include "cli/command.hpp"
#include "cli/options.hpp"
#include "report/chakra.hpp"
#include "sim/kind_costs.hpp"
#include "sim/predict.hpp"
#include "strategies/build.hpp"

namespace orrery::cli {

namespace {

struct ExportOptions {
    ScenarioOptions scenario;
    std::string out, name = "step";
    std::vector<std::uint32_t> ranks;
    bool durations = false;
};

/// The most that all files of an export may take together.
constexpr std::uint64_t most_bytes = std::uint64_t{8} << 30U;

constexpr const char* export_footer =
    R"(Writes DIR/NAME.RANK.et for each rank, which ASTRA-sim reads as --workload-configuration=DIR/NAME, and
DIR/groups.json, its --comm-group-configuration. Times are left to the simulator: nodes have FLOPs, bytes
and dependencies; with --durations also the predicted times of kernels and of the host's launches.
Examples:
  orrery export chakra scenarios/gpt-tiny-cpu.json --out chakra
  orrery export chakra scenarios/gpt-1.7b-dgx-a100.json --durations --out timed
  orrery export chakra scenarios/gpt3-175b-superpod-a100.json --rank 0 --rank 128 --out two-ranks)";

std::vector<std::uint32_t> ranks_of(const ExportOptions& options, std::size_t ranks) {
    std::vector<std::uint32_t> all = options.ranks;
    if (all.empty()) {
        all.resize(ranks);
        std::iota(all.begin(), all.end(), 0U);
    }
    for (const std::uint32_t rank : all)
        if (rank >= ranks)
            throw Error(fmt::format("--rank {}: the scenario has ranks 0 to {}", rank, ranks - 1),
                        "name one of them, or leave --rank out for all");
    return all;
}

/// The rank of NAME.RANK.et; nothing for other files.
std::optional<std::uint32_t> rank_in(const std::string& file, const std::string& name) {
    constexpr std::string_view end = ".et";
    if (!file.starts_with(name + '.') || !file.ends_with(end) || file.size() <= name.size() + 1 + end.size())
        return std::nullopt;
    const char *const first = file.data() + name.size() + 1, *const last = file.data() + file.size() - end.size();
    std::uint32_t rank = 0;
    const auto [read, error] = std::from_chars(first, last, rank);
    return error == std::errc() && read == last ? std::optional(rank) : std::nullopt;
}

/// Files of ranks that the step has not, of an earlier export, would be read as ranks of this one.
void refuse_leftovers(const ExportOptions& options, std::size_t ranks) {
    std::error_code none;
    std::vector<std::uint32_t> left;
    for (const auto& entry : std::filesystem::directory_iterator(options.out, none))
        if (const auto rank = rank_in(entry.path().filename().string(), options.name); rank && *rank >= ranks)
            left.push_back(*rank);
    if (left.empty()) return;
    const auto [least, most] = std::ranges::minmax(left);
    const std::string first = fmt::format("{}.{}.et", options.name, least);
    const std::string files = left.size() == 1 ? first : fmt::format("{} to {}.{}.et", first, options.name, most);
    throw Error(
        options.out, "",
        fmt::format("holds {} of ranks that this step of {} has not: whoever reads the folder would take them for "
                    "its own",
                    files, ranks),
        "remove them, or name another --out or --name");
}

/// The step as planned, timed: nothing waits for what refers to the scenario.
struct Timed {
    Timed(const scenarios::Scenario& scenario, const strategies::StepProgram& step)
        : cluster(topology::build(scenario.cluster)),
          network(cluster, sim::profiles_of(scenario, cluster, profiles),
                  sim::insisted_algorithms(scenario.plan.strategy)),
          costs(step, scenario.plan, network, sim::BesideCollectives::slowed, nullptr) {}

    [[nodiscard]] report::ChakraTimes times(const strategies::StepProgram& step) const {
        return {
            [&](std::uint32_t rank, std::uint32_t op) { return costs.of_rank(rank).of(step.role[rank], op).device; },
            [&](std::uint32_t rank, std::uint32_t op) { return costs.of_rank(rank).of(step.role[rank], op).host; }};
    }

    calibrate::ProfileStore profiles;
    topology::Cluster cluster;
    sim::Network network;
    sim::KindCosts costs;
};

void export_chakra(const ExportOptions& options) {
    const scenarios::Scenario scenario = options.scenario.load();
    const strategies::StepProgram step =
        options.scenario.blamed([&] { return strategies::unrolled(strategies::build(scenario.plan)); });
    std::optional<Timed> timed;
    if (options.durations) options.scenario.blamed([&] { timed.emplace(scenario, step); });
    if (step.steps > 1)
        note(options.scenario.source(),
             fmt::format("a pipeline without flushes: the traces hold {} steps, which overlap", step.steps));
    const report::ChakraTrace trace(step, timed ? std::optional(timed->times(step)) : std::nullopt);
    const std::vector<std::uint32_t> ranks = ranks_of(options, step.role.size());
    std::uint64_t bytes = 0;
    for (const std::uint32_t rank : ranks) bytes += trace.bytes(rank);
    if (bytes > most_bytes)
        throw Error(fmt::format("the traces of {} ranks would take about {}", ranks.size(),
                                format_bytes(static_cast<double>(bytes))),
                    fmt::format("--rank N for some of them, or fewer micro-batches: at most {} are written",
                                format_bytes(static_cast<double>(most_bytes))));
    refuse_leftovers(options, step.role.size());
    std::error_code failed;
    std::filesystem::create_directories(options.out, failed);
    if (failed) throw Error(options.out, "", "cannot be made a folder: " + failed.message(), "name another --out");
    std::uint64_t nodes = 0;
    for (const std::uint32_t rank : ranks) {
        Output out((std::filesystem::path(options.out) / fmt::format("{}.{}.et", options.name, rank)).string());
        trace.write(rank, [&](std::string_view text) { out.write(text); });
        out.finish();
        nodes += step.programs[step.role[rank]].ops.size();
    }
    Output groups((std::filesystem::path(options.out) / "groups.json").string());
    groups.write(trace.groups_json());
    groups.finish();
    print(fmt::format("{}: {} rank{}, {} operations, {} groups\n", options.out, ranks.size(),
                      ranks.size() == 1 ? "" : "s", format_grouped(nodes), trace.groups().size()));
}

}  // namespace

void add_export(CLI::App& program, Exit&) {
    CLI::App* const command = program.add_subcommand("export", "write a scenario's step for other simulators");
    command->require_subcommand(1);
    command->footer(export_footer);
    CLI::App* const chakra = command->add_subcommand("chakra", "Chakra execution traces (MLCommons), a file a rank");
    const auto options = std::make_shared<ExportOptions>();
    options->scenario.add_to(*chakra);
    chakra->add_option("--out", options->out, "folder to write, made where it is missing")
        ->type_name("DIR")
        ->required();
    chakra->add_option("--name", options->name, "what the files' names begin with")->capture_default_str();
    chakra->add_flag("--durations", options->durations,
                     "with predicted times: of kernels, of copies, and of the host for each launch");
    chakra->add_option("--rank", options->ranks, "only this rank; may be repeated")
        ->type_name("N")
        ->allow_extra_args(false);
    chakra->footer(export_footer);
    chakra->callback([options] { export_chakra(*options); });
}

}  // namespace orrery::cli
