// orrery topology: prints, draws and checks the cluster of a scenario.
#include "report/topology.hpp"

#include <CLI/CLI.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/text.hpp"
#include "cli/command.hpp"
#include "cli/format.hpp"
#include "cli/options.hpp"
#include "hardware/gpu.hpp"
#include "report/html/page.hpp"
#include "report/html/topology_page.hpp"
#include "topology/catalog.hpp"
#include "topology/dot.hpp"
#include "topology/nccl_xml.hpp"
#include "topology/simgrid_xml.hpp"

namespace orrery::cli {

namespace {

struct TopologyOptions {
    ScenarioOptions scenario;
    DisplayOptions display;
    FormatOption format;
    std::string json, html, svg, dot, nccl, simgrid;
};

constexpr const char* topology_footer =
    R"(Only the scenario's "cluster" is read. `orrery list fabrics` names the kinds of fabric.
Examples:
  orrery topology scenarios/gpt3-175b-superpod-a100.json
  orrery topology scenarios/gpt3-175b-superpod-a100.json --set cluster.nodes=20 --svg cluster.svg
  orrery topology scenarios/gpt3-175b-superpod-a100.json --html cluster.html    # to look at
  orrery topology scenarios/bert-large-dgx-1v.json --set cluster.fabric=torus --set cluster.shape=4x4
  orrery topology scenarios/gpt-neox-20b-ethernet.json --dot - | dot -Tpdf > cluster.pdf
  orrery topology scenarios/gpt2-xl-dgx-2.json --json - | jq .bisection_bytes_per_second
  orrery topology scenarios/gpt-neox-20b-ethernet.json --simgrid platform.xml)";

/// The first node.
std::string node_xml(const topology::Cluster& cluster) {
    const int sm = cluster.gpu().compute_capability;
    if (hardware::vendor(cluster.gpu().socket) == hardware::Vendor::amd)
        throw Error("nodes of AMD's GPUs are not written for RCCL", "leave --nccl-xml out");
    if (sm == 0) throw Error(cluster.gpu().name + " is no GPU that NCCL runs on", "leave --nccl-xml out");
    return topology::to_nccl_xml(cluster.plan_of(0), cluster.fabric().parts().nic_bytes_per_second, sm);
}

struct Wanted {
    Output* output;
    std::function<std::string()> text;
};

/// Writes what can be written; what cannot is told then, so that a format with a limit costs no other one.
void write_all(const std::vector<Wanted>& all, const std::string& scenario) {
    std::optional<Error> refused;
    for (const Wanted& each : all) {
        if (!each.output->wanted()) continue;
        try {
            each.output->write(each.text());
            each.output->finish();
        } catch (const Error& error) {
            if (!refused) refused = error.in_file(scenario);
        }
    }
    if (refused) throw *refused;
}

std::string command(const TopologyOptions& options) {
    return options.scenario.command("topology") + " --html " + shell_word(options.html);
}

void show(const TopologyOptions& options) {
    require_distinct(
        {options.json, options.html, options.svg, options.dot, options.nccl, options.simgrid, options.format.path()},
        {options.scenario.file});
    const topology::Cluster cluster = topology::build(options.scenario.load_cluster());
    if (!options.html.empty()) report::require_page();
    Output json(options.json), html(options.html), svg(options.svg), dot(options.dot), nccl(options.nccl),
        simgrid(options.simgrid);
    const topology::Survey survey = topology::survey(cluster);
    const bool answered = json.to_stdout() || html.to_stdout() || svg.to_stdout() || dot.to_stdout() ||
                          nccl.to_stdout() || simgrid.to_stdout();
    options.format.print({.text = [&] { return report::topology_text(cluster, survey, options.display.style()); },
                          .csv = [&] { return report::topology_records(survey).csv(); },
                          .json = [&] { return report::topology_json(cluster, survey); }},
                         answered || options.display.quiet);
    write_all({{&json, [&] { return report::topology_json(cluster, survey); }},
               {&html, [&] { return report::topology_page(cluster, survey, command(options)); }},
               {&svg, [&] { return report::topology_svg(cluster); }},
               {&dot, [&] { return topology::to_dot(cluster); }},
               {&nccl, [&] { return node_xml(cluster); }},
               {&simgrid, [&] { return topology::to_simgrid_xml(cluster); }}},
              options.scenario.source());
}

}  // namespace

void add_topology(CLI::App& program, Exit&) {
    CLI::App* const command = program.add_subcommand(
        "topology", "print, draw and check the cluster of a scenario: switches, cables, bisection");
    const auto options = std::make_shared<TopologyOptions>();
    options->scenario.add_to(*command);
    options->format.add_to(*command, "a line for each layer of switches and kind of cable");
    options->display.add_to(*command);
    command->add_option("--json", options->json, "write the facts as JSON to this file (- for standard output)");
    command->add_option("--html", options->html, "write a page to look at: how it is built, links, distances, routes");
    command->add_option("--svg", options->svg, "draw the cluster, or a part of a large one, as SVG");
    command->add_option("--dot", options->dot, "write the cluster for Graphviz");
    command->add_option("--nccl-xml", options->nccl, "write a node as an NCCL topology file (NCCL_TOPO_FILE)");
    command->add_option("--simgrid", options->simgrid, "write the cluster as a SimGrid platform, a host for every GPU");
    command->footer(topology_footer);
    command->callback([options] { show(*options); });
}

}  // namespace orrery::cli
