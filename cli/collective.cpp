// orrery collective: one collective alone on a cluster, printed as nccl-tests prints it.
#include "cli/collective.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>
#include <numeric>
#include <set>

#include "base/text.hpp"
#include "calibrate/profile_store.hpp"
#include "cli/command.hpp"
#include "cli/format.hpp"
#include "cli/options.hpp"
#include "report/html/collective_page.hpp"
#include "report/html/page.hpp"
#include "scenarios/scenario.hpp"
#include "sim/collective/chip_grid.hpp"
#include "sim/predict.hpp"
#include "topology/catalog.hpp"

namespace orrery::cli {

namespace {

using kernels::CollectiveKind;

struct CollectiveOptions {
    std::string kind, cluster, bytes = "1M..1G", algorithm = "auto", protocol = "auto", profile, grid, json, html;
    std::vector<std::string> set;
    FormatOption format;
    std::uint32_t gpus = 0;
    double factor = 2;
    bool quiet = false;
};

constexpr const char* collective_footer = R"(Examples:
  orrery collective all_reduce --cluster superpod-a100 --gpus 1024 --bytes 1M..4G
  orrery collective all_to_all --cluster dgx-h100 --set cluster.nodes=64 --gpus 512 --bytes 64M
  orrery collective all_reduce --cluster superpod-a100 --gpus 64 --bytes 256M --algorithm tree --protocol ll128
  orrery collective all_reduce --cluster dgx-h100 --gpus 8 --bytes 1K..1G --html all_reduce.html    # to look at
Algorithms: ring, tree, nvls_tree, sharp, hierarchical, halving_doubling, torus_ring, direct, pxn, pairwise,
once_a_node, parameter_server; auto takes the one that NCCL's tuning model finds fastest. Sizes are nccl-tests'.)";

CollectiveKind kind_of(const std::string& text) {
    try {
        return kernels::collective_from(text);
    } catch (const Error& error) {
        std::vector<std::string_view> names;
        for (int i = 0; i < kernels::collective_kinds; ++i)
            names.push_back(kernels::name(static_cast<CollectiveKind>(i)));
        throw Error(error.message(), fmt::format("nearest: {}; {}", join(nearest(text, names, 1)), error.hint()));
    }
}

/// "4x4x8" -> extents.
sim::Grid parse_grid(const std::string& text, std::uint32_t ranks) {
    if (text.empty()) return {.extents = {ranks}};
    sim::Grid grid;
    for (std::size_t at = 0; at <= text.size();) {
        const std::size_t end = std::min(text.find('x', at), text.size());
        const std::string part = text.substr(at, end - at);
        if (part.empty() || part.size() > 7 || part.find_first_not_of("0123456789") != std::string::npos || part == "0")
            throw Error("", "", fmt::format("--grid \"{}\" is no grid", text), "as in 4x4x8");
        grid.extents.push_back(static_cast<std::uint32_t>(std::stoul(part)));
        at = end + 1;
    }
    return grid;
}

std::uint32_t ranks_of(const CollectiveOptions& options, const topology::Cluster& cluster) {
    const std::uint32_t ranks = options.gpus == 0 ? cluster.gpus() : options.gpus;
    if (ranks <= cluster.gpus()) return ranks;
    throw Error("", "", fmt::format("--gpus {}, but cluster {} has {}", ranks, cluster.name(), cluster.gpus()),
                fmt::format("--set cluster.nodes={}, or at most {} GPUs",
                            (ranks + cluster.gpus_per_node() - 1) / cluster.gpus_per_node(), cluster.gpus()));
}

/// The preset at the size that the GPUs need, unless the user set one; or a scenario's cluster as it is.
topology::Cluster cluster_of(const CollectiveOptions& options) {
    std::vector<scenarios::Override> overrides;
    for (const std::string& text : options.set) overrides.push_back(scenarios::parse_override(text));
    if (options.cluster.ends_with(".json")) return topology::build(scenarios::load_cluster(options.cluster, overrides));
    topology::ClusterSpec spec = scenarios::preset_cluster(options.cluster, overrides);
    topology::Cluster usual = topology::build(spec);
    if (spec.nodes != 0 || options.gpus <= usual.gpus()) return usual;
    spec.nodes = (options.gpus + usual.gpus_per_node() - 1) / usual.gpus_per_node();
    return topology::build(spec);
}

/// "a100, h100": of the GPUs that take part.
std::string profile_names(const CollectiveOptions& options, const topology::Cluster& cluster,
                          const std::vector<topology::GpuId>& gpus) {
    if (!options.profile.empty()) return options.profile;
    std::set<std::string> names;
    for (const topology::GpuId gpu : gpus) names.insert(cluster.gpu_of(gpu).profile);
    return fmt::format("{}", fmt::join(names, ", "));
}

/// Tables of the kind in the profiles of the GPUs that take part, each profile's once.
std::vector<calibrate::CollectiveTable> measured_by(const sim::Profiles& timing, const topology::Cluster& cluster,
                                                    const std::vector<topology::GpuId>& gpus, CollectiveKind kind) {
    std::vector<calibrate::CollectiveTable> tables;
    std::set<const calibrate::Predictor*> seen;
    for (const topology::GpuId gpu : gpus) {
        const calibrate::Predictor& predictor = timing.of(cluster.gpu_of(gpu));
        if (!seen.insert(&predictor).second) continue;
        for (const calibrate::CollectiveTable& table : predictor.profile().collectives)
            if (table.kind == kind) tables.push_back(table);
    }
    return tables;
}

/// The command line that says the same.
std::string command(const CollectiveOptions& options) {
    std::string text = fmt::format("orrery collective {} --cluster {}", options.kind, shell_word(options.cluster));
    const auto add = [&](const char* option, const std::string& value, const char* usual) {
        if (value != usual) text += fmt::format(" {} {}", option, shell_word(value));
    };
    for (const std::string& each : options.set) text += " --set " + shell_word(each);
    if (options.gpus > 0) text += fmt::format(" --gpus {}", options.gpus);
    add("--bytes", options.bytes, "");
    if (options.factor != 2) text += fmt::format(" --factor {}", options.factor);
    add("--algorithm", options.algorithm, "auto");
    add("--protocol", options.protocol, "auto");
    add("--grid", options.grid, "");
    add("--profile", options.profile, "");
    return text + " --html " + shell_word(options.html);
}

void collective(const CollectiveOptions& options) {
    require_distinct({options.json, options.html, options.format.path()},
                     {options.cluster.ends_with(".json") ? options.cluster : ""});
    const CollectiveKind kind = kind_of(options.kind);
    const std::vector<double> sizes = parse_sizes(options.bytes, options.factor);
    sim::Insisted insisted;
    if (options.algorithm != "auto") insisted.algorithm = &sim::find_algorithm(options.algorithm, kind);
    if (options.protocol != "auto") insisted.protocol = sim::find_protocol(options.protocol);
    const topology::Cluster cluster = cluster_of(options);
    const std::uint32_t ranks = ranks_of(options, cluster);
    Output json(options.json), html(options.html);
    if (html.wanted()) report::require_page();
    calibrate::ProfileStore profiles;
    const sim::Profiles timing = sim::profiles_of(cluster, options.profile, profiles);
    std::vector<topology::GpuId> gpus(ranks);
    std::iota(gpus.begin(), gpus.end(), 0U);
    const bool rings =
        insisted.algorithm == nullptr ? cluster.fabric().parts().on_chip : insisted.algorithm->name == "torus_ring";
    if (!options.grid.empty() && !rings)
        throw Error("", "", "--grid: no rings along its dimensions are asked for", "--algorithm torus_ring");
    const sim::Grid grid = options.grid.empty() ? sim::grid_of(cluster, gpus) : parse_grid(options.grid, ranks);
    const sim::Group group(gpus, cluster.gpus_per_node(), grid);
    CollectiveTable table{cluster.name(),
                          profile_names(options, cluster, gpus),
                          kind,
                          ranks,
                          group.nodes(),
                          {},
                          measured_by(timing, cluster, gpus, kind)};
    sim::CollectiveTimer timer(cluster, timing, group);
    for (const double bytes : sizes) table.rows.push_back({bytes, timer.time(kind, bytes, insisted)});
    if (json.wanted()) json.write(to_json(table).dump(2) + '\n');
    if (html.wanted()) html.write(report::collective_page(to_json(table), command(options)));
    options.format.print({.text = [&] { return to_text(table); },
                          .csv = [&] { return to_records(table).csv(); },
                          .json = [&] { return to_json(table).dump(2) + '\n'; }},
                         json.to_stdout() || html.to_stdout() || options.quiet);
    finish_all({&json, &html});
}

}  // namespace

void add_collective(CLI::App& program, Exit&) {
    CLI::App* const command =
        program.add_subcommand("collective", "time a collective alone on a cluster, in the form of nccl-tests");
    const auto options = std::make_shared<CollectiveOptions>();
    command
        ->add_option("KIND", options->kind, "all_reduce, all_gather, reduce_scatter, all_to_all, broadcast, send_recv")
        ->required();
    command->add_option("--cluster", options->cluster, "preset of `orrery list clusters`, or a scenario (.json)")
        ->required();
    command->add_option("--set", options->set, "override a key of the cluster, as in cluster.nodes=16; may be repeated")
        ->type_name("PATH=VALUE")
        ->allow_extra_args(false);
    command->add_option("--gpus", options->gpus, "ranks: the cluster's first GPUs; without it, all")
        ->check(CLI::Range(1U, 16777216U));
    command->add_option("--bytes", options->bytes, "size, or FIRST..LAST")->type_name("SIZE")->capture_default_str();
    command->add_option("--factor", options->factor, "from one size to the next")->capture_default_str();
    command->add_option("--algorithm", options->algorithm, "auto, or a name as below")->capture_default_str();
    command->add_option("--protocol", options->protocol, "auto, ll, ll128 or simple")->capture_default_str();
    command
        ->add_option("--grid", options->grid,
                     "extents of the group for torus_ring, as in 4x4x8; without it, those that chips fill")
        ->type_name("AxBxC");
    command->add_option("--profile", options->profile, "shipped profile or file; without it, the GPU's");
    command->add_option("--json", options->json, "write the table as JSON; - for standard output")->type_name("FILE");
    command->add_option("--html", options->html, "write a page to look at: time and bandwidth over sizes")
        ->type_name("FILE");
    options->format.add_to(*command, "a line a size");
    command->add_flag("--quiet,-q", options->quiet, "print no table");
    command->footer(collective_footer);
    command->callback([options] { collective(*options); });
}

}  // namespace orrery::cli
