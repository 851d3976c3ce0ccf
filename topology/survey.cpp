#include "topology/survey.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <random>

#include "topology/link_ends.hpp"
#include "topology/max_flow.hpp"

namespace orrery::topology {

namespace {

constexpr std::uint32_t pairs_walked = 1000, most_links_in_flow = 100'000;

/// "leaf" for a router, "node" (or "chip") for a port.
std::string end_name(const Fabric& fabric, std::uint32_t end) {
    const VertexKind kind = fabric_vertex(fabric, end);
    return kind == VertexKind::nic ? "node" : fabric.layer_word(kind);
}

void count_cables(const Fabric& fabric, Survey& s) {
    for (std::uint32_t id = 0; id < fabric.links(); ++id) {
        const Fabric::Ends ends = fabric.ends(id);
        if (ends.from > ends.to) continue;
        const Link link = fabric.link(id);
        if (s.cables.size() < link.tier) s.cables.resize(link.tier);
        Survey::Cables& tier = s.cables[link.tier - 1];
        const double rate = link.bytes_per_second / link.cables, seconds = link.latency_seconds;
        if (tier.count == 0) {
            tier = {fmt::format("{} - {}", end_name(fabric, ends.from), end_name(fabric, ends.to)),
                    0,
                    rate,
                    rate,
                    seconds,
                    seconds};
        }
        tier.count += link.cables;
        tier.bytes_per_second = std::min(tier.bytes_per_second, rate);
        tier.fastest_bytes_per_second = std::max(tier.fastest_bytes_per_second, rate);
        tier.latency_seconds = std::min(tier.latency_seconds, seconds);
        tier.longest_seconds = std::max(tier.longest_seconds, seconds);
    }
    std::erase_if(s.cables, [](const Survey::Cables& c) { return c.count == 0; });
}

void count_switches(const Cluster& cluster, Survey& s) {
    const Properties p = properties(cluster);
    const auto layers = cluster.fabric().layers();
    const bool chips = cluster.fabric().parts().on_chip;
    const std::uint32_t offered = chips ? 0 : cluster.fabric().parts().fabric_switch.ports;
    for (std::size_t i = 0; i < p.switches_by_tier.size(); ++i) {
        s.switches.push_back(
            {cluster.fabric().layer_word(layers[i].kind), p.switches_by_tier[i], p.max_ports_by_tier[i], offered});
    }
    std::uint64_t pairs = 0;
    double sum = 0;
    for (std::size_t k = 0; k < p.node_pairs_by_switches.size(); ++k) {
        const std::uint64_t count = p.node_pairs_by_switches[k];
        if (count == 0) continue;
        s.hops.push_back({static_cast<std::uint32_t>(k), count});
        pairs += count;
        sum += static_cast<double>(k) * static_cast<double>(count);
    }
    s.mean_switches = pairs == 0 ? 0 : sum / static_cast<double>(pairs);
    s.sampled = pairs != 0 && pairs != std::uint64_t{p.nodes} * (p.nodes - 1);
    s.bisection_bytes_per_second = p.bisection_bytes_per_second;
}

/// What the first half of the nodes can send to the rest over links that work, in bytes per second, counted in kB/s.
double working_bisection(const Fabric& fabric, const Failures& failures) {
    const std::uint32_t ports = fabric.ports(), half = fabric.nodes() / 2 * fabric.parts().nics_per_node;
    const std::uint32_t vertices = fabric.vertices();
    MaxFlow net(vertices + 2);
    constexpr std::int64_t unlimited = 1'000'000'000'000'000;
    for (std::uint32_t port = 0; port < ports; ++port) {
        port < half ? net.join(vertices, port, unlimited, 0) : net.join(port, vertices + 1, unlimited, 0);
    }
    for (std::uint32_t id = 0; id < fabric.links(); ++id) {
        const std::uint32_t one[] = {id};
        if (failures.blocks(one)) continue;
        const Fabric::Ends ends = fabric.ends(id);
        net.join(ends.from, ends.to, static_cast<std::int64_t>(fabric.link(id).bytes_per_second / 1e3), 0);
    }
    return static_cast<double>(net.run(vertices, vertices + 1)) * 1e3;
}

void count_failures(const Cluster& cluster, Survey& s) {
    const Failures* const failures = cluster.failures();
    if (failures == nullptr) return;
    s.failed_links = failures->failed_links();
    s.bisection_intact = cluster.fabric().links() > most_links_in_flow;
    if (s.bisection_intact) return;
    s.bisection_bytes_per_second =
        std::min(s.bisection_bytes_per_second, working_bisection(cluster.fabric(), *failures));
}

/// Of the first half of the nodes. A chip puts its traffic on all of its links.
double injection(const Fabric& fabric, const Survey& s) {
    const std::uint32_t half = fabric.nodes() / 2;
    if (fabric.parts().on_chip) return half * s.switches.front().ports_used * fabric.parts().nic_bytes_per_second;
    double sum = 0;
    for (std::uint32_t port = 0; port < half * fabric.parts().nics_per_node; ++port) {
        sum += fabric.link(port).bytes_per_second;
    }
    return sum;
}

/// Follows a route link by link over the fabric; false when it breaks off or crosses what has failed.
bool holds(const Cluster& cluster, const std::vector<LinkId>& route) {
    std::vector<std::uint32_t> fabric;
    for (const LinkId id : route) {
        if (id >= cluster.first_fabric_link()) fabric.push_back(id - cluster.first_fabric_link());
    }
    for (std::size_t i = 1; i < fabric.size(); ++i) {
        if (cluster.fabric().ends(fabric[i - 1]).to != cluster.fabric().ends(fabric[i]).from) return false;
    }
    return !fabric.empty() && (cluster.failures() == nullptr || !cluster.failures()->blocks(fabric));
}

void walk(const Cluster& cluster, Survey& s) {
    std::mt19937_64 random(1);
    std::vector<LinkId> route;
    std::uint32_t walked = 0, broken = 0;
    for (std::uint32_t i = 0; i < pairs_walked; ++i) {
        // A neighbour first, then anywhere: the nearest and the farthest are among them.
        const auto from = static_cast<GpuId>(random() % cluster.gpus());
        const auto to = i < pairs_walked / 4 ? (from + cluster.gpus_per_node()) % cluster.gpus()
                                             : static_cast<GpuId>(random() % cluster.gpus());
        if (cluster.node_of(from) == cluster.node_of(to)) continue;
        cluster.route(from, to, route);
        ++walked;
        broken += holds(cluster, route) ? 0 : 1;
        const double seconds = cluster.latency_seconds(from, to);
        s.nearest_seconds = walked == 1 ? seconds : std::min(s.nearest_seconds, seconds);
        s.farthest_seconds = std::max(s.farthest_seconds, seconds);
    }
    s.checks.push_back({broken == 0, broken == 0 ? fmt::format("{} routes between GPUs were followed", walked)
                                                 : fmt::format("{} of {} routes break off", broken, walked)});
}

void check(Survey& s) {
    for (const Survey::Switches& layer : s.switches) {
        if (layer.ports_offered == 0) continue;
        const bool fits = layer.ports_used <= layer.ports_offered;
        s.checks.push_back({fits, fmt::format("a {} uses {} of {} ports{}", layer.name, layer.ports_used,
                                              layer.ports_offered, fits ? "" : ": no such switch; set switch_ports")});
    }
    if (s.failed_links > 0) {
        s.checks.push_back(
            {true, fmt::format("{} failed links (directions counted singly) are routed around", s.failed_links)});
    }
}

}  // namespace

bool Survey::sound() const { return std::ranges::all_of(checks, &Check::ok); }

Survey survey(const Cluster& cluster) {
    Survey s;
    if (!cluster.fabric().connected()) return s;
    count_switches(cluster, s);
    count_cables(cluster.fabric(), s);
    count_failures(cluster, s);
    s.injection_bytes_per_second = injection(cluster.fabric(), s);
    if (s.bisection_bytes_per_second > 0) {
        s.oversubscription = s.injection_bytes_per_second / s.bisection_bytes_per_second;
    }
    walk(cluster, s);
    check(s);
    return s;
}

}  // namespace orrery::topology
