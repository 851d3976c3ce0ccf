#include <fmt/format.h>

#include "base/error.hpp"
#include "topology/simgrid_xml.hpp"

namespace orrery::topology {

namespace {

constexpr std::uint32_t most_gpus = 256;

void refuse_what_cannot_be_written(const Cluster& cluster) {
    if (cluster.gpus() > most_gpus) {
        throw Error("", "/cluster/nodes",
                    fmt::format("{} GPUs; SimGrid keeps a route for every pair of them", cluster.gpus()),
                    fmt::format("ask for at most {0} GPUs, as in --set cluster.nodes={1}", most_gpus,
                                std::max(1U, most_gpus / cluster.gpus_per_node())));
    }
    if (cluster.routing().policy == RoutingPolicy::spray && cluster.routing().stated) {
        throw Error("", "/cluster/routing", "packet spraying takes many routes at once, and SimGrid one",
                    "set routing to minimal or ecmp");
    }
}

/// The fixed cost of the two NICs stands with the cable that every message between nodes takes once.
double seconds_of(const Cluster& cluster, LinkId id, const Link& link) {
    const bool up = link.kind == LinkKind::nic && id - cluster.first_fabric_link() < cluster.fabric().ports();
    return link.latency_seconds + (up ? cluster.fabric().parts().adapter.send_receive_seconds : 0);
}

}  // namespace

std::string to_simgrid_xml(const Cluster& cluster) {
    refuse_what_cannot_be_written(cluster);
    std::string out = fmt::format(
        "<?xml version='1.0'?>\n<!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\n"
        "<!-- {}, a host for every GPU, every link in one direction. For plain max-min sharing run with\n"
        "     cfg=network/model:CM02 cfg=network/crosstraffic:0 cfg=network/TCP-gamma:1e20{} -->\n"
        "<platform version=\"4.1\">\n  <zone id=\"{}\" routing=\"Full\">\n",
        cluster.name(),
        cluster.routing().policy == RoutingPolicy::spray
            ? "\n     Packets are sprayed there; here each pair has one way."
            : "",
        cluster.name());
    for (GpuId gpu = 0; gpu < cluster.gpus(); ++gpu) {
        const Gpu& kind = cluster.gpu_of(gpu);
        out += fmt::format("    <host id=\"gpu{}\" speed=\"{}f\"/>\n", gpu,
                           kind.half_flops > 0 ? kind.half_flops : kind.fp32_flops);
    }
    for (LinkId id = 0; id < cluster.links(); ++id) {
        const Link link = cluster.link(id);
        out += fmt::format("    <link id=\"link{}\" bandwidth=\"{}Bps\" latency=\"{}s\"/>\n", id, link.bytes_per_second,
                           seconds_of(cluster, id, link));
    }
    std::vector<LinkId> route;
    for (GpuId from = 0; from < cluster.gpus(); ++from) {
        for (GpuId to = 0; to < cluster.gpus(); ++to) {
            if (from == to) continue;
            cluster.route(from, to, route);
            out += fmt::format("    <route src=\"gpu{}\" dst=\"gpu{}\" symmetrical=\"NO\">", from, to);
            for (const LinkId id : route) out += fmt::format("<link_ctn id=\"link{}\"/>", id);
            out += "</route>\n";
        }
    }
    return out + "  </zone>\n</platform>\n";
}

}  // namespace orrery::topology
