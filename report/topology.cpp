#include "report/topology.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/table.hpp"
#include "base/text.hpp"
#include "base/units.hpp"

namespace orrery::report {

namespace {

using topology::Cluster;
using topology::Survey;
using Align = Table::Align;

/// "400 Gb/s", "25.6 Tb/s".
std::string bits(double bytes_per_second) {
    const double gigabits = bytes_per_second * 8e-9;
    if (gigabits >= 1e7) return fmt::format("{:.4g} Pb/s", gigabits / 1e6);
    return gigabits >= 1e4 ? fmt::format("{:.4g} Tb/s", gigabits / 1e3) : fmt::format("{:.4g} Gb/s", gigabits);
}

std::string range(const std::string& least, const std::string& most) {
    return least == most ? least : least + " to " + most;
}

std::string heading(const Cluster& cluster, Style style) {
    std::vector<std::string> kinds;
    for (const topology::NodeGroup& group : cluster.groups()) {
        kinds.push_back(cluster.fabric().parts().on_chip
                            ? fmt::format("{} {} chips", format_grouped(group.nodes), group.gpu.name)
                            : fmt::format("{} node{} of {} {}", format_grouped(group.nodes),
                                          group.nodes == 1 ? "" : "s", cluster.gpus_per_node(), group.gpu.name));
    }
    std::string text =
        paint(style, Ink::bold, fmt::format("{}: {} GPUs", cluster.name(), format_grouped(cluster.gpus())));
    text += fmt::format(", {}\n", join(kinds, " and "));
    text += fmt::format("fabric    {}\n", cluster.fabric().describe());
    text +=
        fmt::format("routing   {}\n", topology::routing_policies()[static_cast<std::size_t>(cluster.routing().policy)]);
    if (cluster.intra_node_bytes_per_second() > 0) {
        text +=
            fmt::format("in a node {:.4g} GB/s a GPU, one direction\n", cluster.intra_node_bytes_per_second() / 1e9);
    }
    return text;
}

std::string parts(const Survey& survey) {
    Table switches({{"layer", Align::left}, {"switches"}, {"ports used"}, {"of"}});
    for (const Survey::Switches& s : survey.switches) {
        switches.row({s.name, format_grouped(s.count), std::to_string(s.ports_used),
                      s.ports_offered == 0 ? "-" : std::to_string(s.ports_offered)});
    }
    Table cables({{"cables", Align::left}, {"count"}, {"each way"}, {"latency"}});
    for (const Survey::Cables& c : survey.cables) {
        cables.row({c.name, format_grouped(c.count), range(bits(c.bytes_per_second), bits(c.fastest_bytes_per_second)),
                    range(format_seconds(c.latency_seconds), format_seconds(c.longest_seconds))});
    }
    return switches.to_text() + '\n' + cables.to_text();
}

std::string distances(const Survey& survey, bool chips) {
    std::uint64_t pairs = 0;
    for (const Survey::Hops& hops : survey.hops) pairs += hops.node_pairs;
    Table table({{chips ? "links apart" : "switches apart"}, {"node pairs"}, {"share"}, {"", Align::left}});
    for (const Survey::Hops& hops : survey.hops) {
        const double share = static_cast<double>(hops.node_pairs) / static_cast<double>(pairs);
        table.row({std::to_string(hops.switches), format_grouped(hops.node_pairs), fmt::format("{:.2f}%", 100 * share),
                   std::string(static_cast<std::size_t>(share * 40 + 0.5), '#')});
    }
    return table.to_text() + (survey.sampled ? "(estimated from some of the nodes)\n" : "");
}

}  // namespace

std::string topology_text(const Cluster& cluster, const Survey& survey, Style style) {
    std::string text = heading(cluster, style);
    if (survey.switches.empty()) return text + "\none node: no network\n";
    const bool chips = cluster.fabric().parts().on_chip;
    text += '\n' + parts(survey) + '\n';
    text += fmt::format("bisection         {} each way, {} a GPU{}\n", bits(survey.bisection_bytes_per_second),
                        bits(survey.bisection_bytes_per_second / (cluster.gpus() / 2.0)),
                        survey.bisection_intact ? " (were all links working)" : "");
    text += fmt::format("oversubscription  {:.2f} : 1 ({} of half the {}, over the bisection)\n",
                        survey.oversubscription, bits(survey.injection_bytes_per_second), chips ? "chips" : "NICs");
    text += fmt::format("diameter          {} {}{}, {:.2f} on average\n", survey.diameter(),
                        fmt::format("{}{}", chips ? "link" : "switch",
                                    survey.diameter() == 1 ? ""
                                    : chips                ? "s"
                                                           : "es"),
                        cluster.nics_per_node() > 1 ? " between the first NICs of nodes" : "", survey.mean_switches);
    text += fmt::format("latency           {} to {} between GPUs of different nodes\n\n",
                        format_seconds(survey.nearest_seconds), format_seconds(survey.farthest_seconds));
    text += distances(survey, chips) + '\n';
    for (const Survey::Check& check : survey.checks) {
        text += fmt::format("{}  {}\n",
                            check.ok ? paint(style, Ink::good, "ok     ") : paint(style, Ink::warning, "WARNING"),
                            check.text);
    }
    return text;
}

Records topology_records(const Survey& survey) {
    Records all({{"part"},
                 {"name"},
                 {"count"},
                 {"ports_used"},
                 {"ports_offered"},
                 {"bytes_per_second"},
                 {"fastest_bytes_per_second"},
                 {"latency_seconds"},
                 {"longest_seconds"}});
    for (const Survey::Switches& s : survey.switches)
        all.row({"switches",
                 s.name,
                 s.count,
                 s.ports_used,
                 s.ports_offered == 0 ? Value() : Value(s.ports_offered),
                 {},
                 {},
                 {},
                 {}});
    for (const Survey::Cables& c : survey.cables)
        all.row({"cables",
                 c.name,
                 c.count,
                 {},
                 {},
                 c.bytes_per_second,
                 c.fastest_bytes_per_second,
                 c.latency_seconds,
                 c.longest_seconds});
    return all;
}

std::string topology_json(const Cluster& cluster, const Survey& survey) {
    using Json = nlohmann::ordered_json;
    Json groups = Json::array(), switches = Json::array(), cables = Json::array(), hops = Json::array(),
         checks = Json::array();
    for (const auto& group : cluster.groups()) groups.push_back({{"nodes", group.nodes}, {"gpu", group.gpu.name}});
    for (const auto& s : survey.switches) {
        switches.push_back(
            {{"layer", s.name}, {"count", s.count}, {"ports_used", s.ports_used}, {"ports_offered", s.ports_offered}});
    }
    for (const auto& c : survey.cables) {
        cables.push_back({{"between", c.name},
                          {"count", c.count},
                          {"bytes_per_second", c.bytes_per_second},
                          {"fastest_bytes_per_second", c.fastest_bytes_per_second},
                          {"latency_seconds", c.latency_seconds},
                          {"longest_seconds", c.longest_seconds}});
    }
    for (const auto& h : survey.hops) hops.push_back({{"switches", h.switches}, {"node_pairs", h.node_pairs}});
    for (const auto& c : survey.checks) checks.push_back({{"ok", c.ok}, {"text", c.text}});
    const Json document = {
        {"cluster", cluster.name()},
        {"gpus", cluster.gpus()},
        {"gpus_per_node", cluster.gpus_per_node()},
        {"nics_per_node", cluster.nics_per_node()},
        {"node_groups", groups},
        {"fabric", cluster.fabric().describe()},
        {"routing", topology::routing_policies()[static_cast<std::size_t>(cluster.routing().policy)]},
        {"switches", switches},
        {"cables", cables},
        {"bisection_bytes_per_second", survey.bisection_bytes_per_second},
        {"bisection_ignores_failures", survey.bisection_intact},
        {"injection_bytes_per_second", survey.injection_bytes_per_second},
        {"oversubscription", survey.oversubscription},
        {"diameter", survey.diameter()},
        {"mean_switches", survey.mean_switches},
        {"hops", hops},
        {"hops_are_estimated", survey.sampled},
        {"nearest_seconds", survey.nearest_seconds},
        {"farthest_seconds", survey.farthest_seconds},
        {"failed_links", survey.failed_links},
        {"checks", checks}};
    return document.dump(2) + '\n';
}

}  // namespace orrery::report
