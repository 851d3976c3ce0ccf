// orrery import chakra: the execution traces of a step, replayed on a cluster.
#include "cli/import_chakra.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>

#include "base/progress.hpp"
#include "calibrate/profile_store.hpp"
#include "cli/format.hpp"
#include "cli/options.hpp"
#include "doors/chakra/traces.hpp"
#include "report/graph_use.hpp"
#include "scenarios/scenario.hpp"
#include "sim/predict.hpp"
#include "topology/catalog.hpp"

namespace orrery::cli {

namespace {

struct ImportChakraOptions {
    doors::chakra::Request request;
    std::string cluster, profile, json, times = "auto", precision = "bf16";
    std::vector<std::string> set;
    FormatOption format;
    bool quiet = false;
};

constexpr const char* import_chakra_footer =
    R"(Replays DIR/NAME.0.et, DIR/NAME.1.et, ... with rank r on GPU r. Nodes wait as the trace says (data_deps,
ctrl_deps), messages and collectives share the cluster's links as in `orrery simulate`, kernels take their
recorded time or, where there is none and with --times work, that of their FLOPs and bytes on the cluster's GPU.
Examples:
  orrery export chakra scenarios/gpt-1.7b-dgx-a100.json --durations --out timed
  orrery import chakra timed/step --cluster dgx-a100
  orrery import chakra timed/step --cluster superpod-h100 --times work --format csv)";

/// The preset at the size that the ranks need, unless the user set one; or a scenario's cluster as it is.
topology::Cluster cluster_of(const ImportChakraOptions& options, std::size_t ranks) {
    std::vector<scenarios::Override> overrides;
    for (const std::string& text : options.set) overrides.push_back(scenarios::parse_override(text));
    if (options.cluster.ends_with(".json")) return topology::build(scenarios::load_cluster(options.cluster, overrides));
    topology::ClusterSpec spec = scenarios::preset_cluster(options.cluster, overrides);
    topology::Cluster usual = topology::build(spec);
    if (spec.nodes != 0 || ranks <= usual.gpus()) return usual;
    spec.nodes = static_cast<std::uint32_t>((ranks + usual.gpus_per_node() - 1) / usual.gpus_per_node());
    return topology::build(spec);
}

std::string profile_names(const ImportChakraOptions& options, const topology::Cluster& cluster) {
    if (!options.profile.empty()) return options.profile;
    std::set<std::string> names;
    for (const topology::NodeGroup& group : cluster.groups()) names.insert(group.gpu.profile);
    return fmt::format("{}", fmt::join(names, ", "));
}

void import_chakra(const ImportChakraOptions& options) {
    require_distinct({options.json, options.format.path()},
                     {options.request.groups, options.cluster.ends_with(".json") ? options.cluster : ""});
    const kernels::Dtype dtype = kernels::dtype_from(options.precision);
    Output json(options.json);
    const doors::chakra::Traces traces = doors::chakra::read_traces(options.request);
    for (const std::string& text : traces.notes) note(traces.prefix, text);
    const topology::Cluster cluster = cluster_of(options, traces.step.ranks.size());
    calibrate::ProfileStore profiles;
    const sim::Profiles timing = sim::profiles_of(cluster, options.profile, profiles);
    const sim::GraphReplayed ran = [&] {
        Progress progress("replay", 0, options.quiet);
        return sim::replay_graph(
            traces.step, cluster, timing,
            {.by_work = options.times == "work", .dtype = dtype, .progress = [&](std::size_t done, std::size_t total) {
                 progress.show(done, total);
             }});
    }();
    const report::GraphOrigin origin{traces.prefix, cluster.name(), profile_names(options, cluster), cluster.gpus(),
                                     options.precision};
    const auto document = [&] { return report::graph_json(origin, traces.step, ran).dump(2) + '\n'; };
    if (json.wanted()) json.write(document());
    options.format.print({.text = [&] { return report::graph_text(origin, traces.step, ran); },
                          .csv = [&] { return report::graph_ranks(traces.step, ran).csv(); },
                          .json = document},
                         json.to_stdout() || options.quiet);
    json.finish();
}

}  // namespace

void add_import_chakra(CLI::App& import) {
    CLI::App* const command =
        import.add_subcommand("chakra", "Chakra execution traces (.et, a file a rank), replayed on a cluster");
    const auto options = std::make_shared<ImportChakraOptions>();
    command
        ->add_option("PREFIX", options->request.prefix,
                     "what the files' names begin with, one of them, or their folder")
        ->required();
    command
        ->add_option("--cluster", options->cluster,
                     "preset of `orrery list clusters`, in as many nodes as the ranks need, or a scenario (.json)")
        ->required();
    command->add_option("--set", options->set, "override a key of the cluster, as in cluster.nodes=16; may be repeated")
        ->type_name("PATH=VALUE")
        ->allow_extra_args(false);
    command
        ->add_option("--groups", options->request.groups,
                     "ranks of each group, as ASTRA-sim takes them; without it groups.json beside the files")
        ->type_name("FILE");
    command
        ->add_option("--times", options->times,
                     "of kernels: auto, as recorded where they were; work, by FLOPs and bytes wherever they have any")
        ->check(CLI::IsMember({"auto", "work"}))
        ->type_name("HOW")
        ->capture_default_str();
    command->add_option("--precision", options->precision, "of that work: fp32, tf32, fp16, bf16 or fp8")
        ->type_name("DTYPE")
        ->capture_default_str();
    command->add_option("--profile", options->profile, "shipped profile or file; without it, the GPU's");
    command->add_option("--json", options->json, "write all ranks and all communication as JSON; - for standard output")
        ->type_name("FILE");
    options->format.add_to(*command, "a line a rank");
    command->add_flag("--quiet,-q", options->quiet, "print no table");
    command->footer(import_chakra_footer);
    command->callback([options] { import_chakra(*options); });
}

}  // namespace orrery::cli
