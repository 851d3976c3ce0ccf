#include "report/cable_runs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "base/text.hpp"
#include "base/units.hpp"

namespace orrery::report {

namespace {

using topology::Cluster;
using topology::Fabric;

std::size_t layer_of(const std::vector<topology::Layer>& layers, std::uint32_t router) {
    std::size_t layer = 0;
    while (layer + 1 < layers.size() && router >= layers[layer].count) router -= layers[layer++].count;
    return layer;
}

void add(CableRun& run, const topology::Link& link, std::uint32_t cables, bool failed) {
    const double rate = link.bytes_per_second / cables;
    run.least = run.cables == 0 ? rate : std::min(run.least, rate);
    run.most = std::max(run.most, rate);
    run.cables += cables;
    if (failed) run.failed += cables;
}

}  // namespace

std::string rate_text(double bytes_per_second) { return fmt::format("{:.4g} Gb/s", bytes_per_second * 8e-9); }

std::string CableRun::text() const {
    if (cables == 0) return "";
    const std::string count = fmt::format("{} x ", cables);
    return count + (least == most ? rate_text(least) : fmt::format("{} to {}", rate_text(least), rate_text(most)));
}

std::string CableRuns::failed_text() const {
    std::vector<std::string> places;
    const auto name = [&](const CableRun& run, const std::string& where) {
        if (run.failed > 0) places.push_back(fmt::format("{} of {} cables {}", run.failed, run.cables, where));
    };
    name(to_nodes, "to nodes");
    for (std::size_t i = 0; i < between.size(); ++i)
        name(between[i], i == 0 ? "above the first layer" : fmt::format("above layer {}", i + 1));
    name(beside, "beside each other");
    return places.empty() ? "" : ": " + join(places);
}

CableRuns cable_runs(const Cluster& cluster) {
    const Fabric& fabric = cluster.fabric();
    const std::vector<topology::Layer> layers = fabric.layers();
    const auto failed = [&](std::uint32_t link) {
        const std::uint32_t one[] = {link};
        return cluster.failures() != nullptr && cluster.failures()->blocks(one);
    };
    CableRuns runs;
    runs.between.resize(layers.size() - 1);
    for (std::uint32_t port = 0; port < fabric.port_links() / 2; ++port)
        add(runs.to_nodes, fabric.link(port), 1, failed(port));
    for (std::uint32_t id = 0; id < fabric.trunks(); ++id) {
        const topology::Trunk trunk = fabric.trunk(id);
        const std::size_t from = layer_of(layers, trunk.from), to = layer_of(layers, trunk.to);
        const std::uint32_t link = fabric.port_links() + id;
        if (to == from + 1) add(runs.between[from], fabric.link(link), trunk.cables, failed(link));
        if (to == from && trunk.from < trunk.to) add(runs.beside, fabric.link(link), trunk.cables, failed(link));
    }
    return runs;
}

nlohmann::ordered_json node_parts(const Cluster& cluster) {
    constexpr std::pair<topology::VertexKind, const char*> others[]{{topology::VertexKind::nvswitch, "NVSwitch"},
                                                                    {topology::VertexKind::pcie_switch, "PCIe switch"},
                                                                    {topology::VertexKind::cpu, "CPU"}};
    std::map<topology::VertexKind, std::uint32_t> counts;
    for (const topology::VertexKind kind : cluster.plan_of(0).vertices()) ++counts[kind];
    std::string gpus = fmt::format("{} {}", cluster.gpus_per_node(), cluster.gpu().name);
    if (const double rate = cluster.intra_node_bytes_per_second(); rate > 0)
        gpus += fmt::format(", {:.4g} GB/s from one to another, each way", rate / 1e9);
    nlohmann::ordered_json words{gpus};
    std::vector<std::string> rest;
    for (const auto& [kind, name] : others)
        if (counts[kind] > 0)
            rest.push_back(fmt::format("{} {}{}", counts[kind], name,
                                       counts[kind] == 1                            ? ""
                                       : std::string_view(name).ends_with("switch") ? "es"
                                                                                    : "s"));
    if (!rest.empty()) words.push_back(join(rest));
    return {{"gpus", cluster.gpus_per_node()}, {"nics", cluster.nics_per_node()}, {"words", std::move(words)}};
}

}  // namespace orrery::report
