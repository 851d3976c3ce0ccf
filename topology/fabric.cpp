#include "topology/fabric.hpp"

#include <algorithm>

#include "base/enum_table.hpp"

namespace orrery::topology {

using namespace hardware;

namespace {
constexpr std::uint32_t exact_nodes = 2048, sampled_nodes = 256;
}

std::string_view name(VertexKind kind) {
    constexpr EnumNames<VertexKind> names{"gpu",  "nvswitch", "pcie_switch", "cpu",   "nic",
                                          "leaf", "spine",    "core",        "router"};
    return names[kind];
}

std::string_view name(LinkKind kind) {
    constexpr EnumNames<LinkKind> names{"nvlink", "xgmi", "pcie", "nic", "fabric"};
    return names[kind];
}

std::string Fabric::layer_word(VertexKind kind) const {
    if (parts_.on_chip && kind == VertexKind::router) return "chip";
    if (parts_.on_chip && kind == VertexKind::leaf) return "host";
    return std::string(topology::name(kind));
}

std::uint32_t Fabric::routers() const {
    std::uint32_t sum = 0;
    for (const Layer& layer : layers()) sum += layer.count;
    return sum;
}

Link Fabric::link(std::uint32_t id) const {
    // A link into a router pays for its cable and the router, one out of it for the cable only.
    const double router = parts_.fabric_switch.seconds;
    if (id < port_links()) {
        const bool up = id < ports();
        return {LinkKind::nic, parts_.nic_bytes_per_second,
                nic_cable_metres * cable_seconds_per_metre + (up ? router : 0), 1, 1};
    }
    const Trunk t = trunk(id - port_links());
    return {LinkKind::fabric, parts_.trunk_bytes_per_second * t.relative_rate * t.cables,
            t.metres * cable_seconds_per_metre + router, t.cables, t.tier};
}

Fabric::Ends Fabric::ends(std::uint32_t id) const {
    const std::uint32_t first_router = parts_.on_chip ? 0 : ports();
    if (id < port_links()) {
        const std::uint32_t at = id % ports();
        const std::uint32_t router = first_router + router_of({at / parts_.nics_per_node, at % parts_.nics_per_node});
        return id < ports() ? Ends{at, router} : Ends{router, at};
    }
    const Trunk t = trunk(id - port_links());
    return {first_router + t.from, first_router + t.to};
}

void Fabric::route(Port from, Port to, std::uint32_t path, std::vector<std::uint32_t>& out) const {
    if (!parts_.on_chip) out.push_back(port(from));
    route_trunks(from, to, path, port_links(), out);
    if (!parts_.on_chip) out.push_back(ports() + port(to));
}

std::uint32_t Fabric::distance(Port from, Port to) const {
    std::vector<std::uint32_t> way;
    route_trunks(from, to, usual_path(from, to), 0, way);
    return static_cast<std::uint32_t>(way.size());
}

std::vector<std::uint64_t> Fabric::node_pairs_by_hops() const {
    std::vector<std::uint64_t> counts(1, 0);
    const std::uint32_t sources = nodes() <= exact_nodes ? nodes() : sampled_nodes;
    for (std::uint32_t s = 0; s < sources; ++s) {
        const auto from = static_cast<std::uint32_t>(std::uint64_t{s} * nodes() / sources);
        for (std::uint32_t to = 0; to < nodes(); ++to) {
            if (from == to) continue;
            const std::size_t hops = distance({from, 0}, {to, 0}) + (parts_.on_chip ? 0 : 1);
            if (counts.size() <= hops) counts.resize(hops + 1, 0);
            ++counts[hops];
        }
    }
    for (std::uint64_t& count : counts) count = count * nodes() / sources;
    return counts;
}

}  // namespace orrery::topology
